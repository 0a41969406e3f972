"""Plots of what was measured."""

import pytest

plotting = pytest.importorskip("magic_pomdp.show.plotting")


@pytest.mark.parametrize("place", [0.1, 9.0, 10.0, 1000.0])
def test_one_budget_alone_stands_in_the_middle(place):
    series = [plotting.Series("DESPOT", ((place, 1.0, 0.1),)), plotting.Series("MAGIC", ((place, 2.0, 0.1),))]
    plot = plotting.plot_curves("Returns", "steps", "mean return", series, logarithmic=True)
    axes = plot.figure.axes[0]
    assert axes.get_xlim() == (place / 2.0, 2.0 * place)
    assert axes.xaxis.get_majorticklocs().tolist() == [place]
