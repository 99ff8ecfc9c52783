from freshet_benchmarks.update import update_figures


def test_all_figures_are_there():
    figures = {figure.name: figure for figure in update_figures(2_000)}
    assert list(figures) == [
        "update_single_per_second",
        "update_batch_per_second",
        "stream_deleting_per_second",
        "stream_replacing_per_second",
        *(f"{kind}{number}_replacing_ms" for kind in "LS" for number in range(1, 7)),
        "replacing_slowdown",
        "bytes_a_triple_after_replacements",
        "catching_up_elements_per_second",
        "catching_up_real_time",
    ]
    assert all(figure.value > 0 for figure in figures.values())
    assert (figures["bytes_a_triple_after_replacements"].ratio or 9) < 1.5
