from freshet_benchmarks.scanner import scanner_figures


def test_the_figures_have_their_names_and_a_baseline() -> None:
    figures = {figure.name: figure for figure in scanner_figures(5_000, times=1)}
    assert set(figures) == {
        "kernel_scanner_triples_per_second",
        "kernel_scanner_known_terms_triples_per_second",
        "kernel_scanner_bytes_per_triple",
        "kernel_scanner_terms",
        "kernel_scanner_terms_per_triple",
    }
    for name in ("kernel_scanner_triples_per_second", "kernel_scanner_known_terms_triples_per_second"):
        assert figures[name].value > 0
        assert figures[name].ratio is not None
    assert figures["kernel_scanner_terms"].value > 400
