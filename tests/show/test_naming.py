"""What tells results of one planner apart."""

from small_results import an_evaluation

from magic_pomdp.show.naming import variant_words


def test_a_world_and_what_was_fitted_to_it_tell_results_apart():
    """A fitted task has other parameters, but nobody wants to read them all."""
    simulated = an_evaluation()
    fitted = an_evaluation(
        world="a table", world_settings={"friction": 1.0}, identified="here", task_parameters={"noise": 0.7}
    )
    rough = an_evaluation(
        world="a table", world_settings={"friction": 2.0}, identified="here", task_parameters={"noise": 0.7}
    )
    published = an_evaluation(world="a table", world_settings={"friction": 1.0})
    other = an_evaluation(task_parameters={"noise": 0.6})
    assert [variant_words(one, [simulated, fitted]) for one in (simulated, fitted)] == ["", ""]
    assert [variant_words(one, [fitted, rough]) for one in (fitted, rough)] == ["friction 1.0", "friction 2.0"]
    assert [variant_words(one, [fitted, published]) for one in (fitted, published)] == ["fitted: here", "not fitted"]
    assert [variant_words(one, [simulated, other]) for one in (simulated, other)] == ["noise 0.5", "noise 0.6"]
