import pytest

from shared_data import shared


@pytest.mark.parametrize(
    ("required", "outcome"), [("", pytest.skip.Exception), ("kafka,shared", pytest.fail.Exception)]
)
def test_missing_data_skips_unless_it_is_required(
    required: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRESHET_REQUIRE", required)
    with pytest.raises(outcome, match="no/such/data"):
        shared("no/such/data")
