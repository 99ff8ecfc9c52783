from freshet_benchmarks.scanner import scanner_figures


def test_the_figures_have_their_names_and_a_baseline() -> None:
    figures = {figure.name: figure for figure in scanner_figures(5_000, times=1)}
    assert set(figures) == {
        "scanner_triples_per_second",
        "scanner_known_terms_triples_per_second",
        "scanner_bytes_per_triple",
        "scanner_terms",
        "scanner_terms_per_triple",
    }
    for name in ("scanner_triples_per_second", "scanner_known_terms_triples_per_second"):
        assert figures[name].value > 0
        assert figures[name].ratio is not None
    assert figures["scanner_terms"].value > 400
