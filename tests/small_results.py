"""Small results, as tests need them."""

import msgspec

from magic_pomdp import Budget
from magic_pomdp.results.evaluation import EpisodeResult, Evaluation
from magic_pomdp.results.training import AblationTraining, CurvePoint


def a_record(episode=0, **changes):
    about = {"episode": episode, "total_return": 5.0, "discounted_return": 4.0, "steps": 3, "outcome": "success"}
    rest = {"belief_error": 0.5, "belief_error_final": 0.25, "recoveries": 0, "ignored": 0, "plans": 2}
    return EpisodeResult(**{**about, **rest, **changes})


def an_evaluation(**changes):
    """Every figure that is needed is 1, but for the shares of what did not succeed."""
    about_it = {"task", "planner", "budget", "settings"}
    needed = [field for field in msgspec.structs.fields(Evaluation) if field.required and field.name not in about_it]
    about = {"task": "tiger", "planner": "despot", "budget": Budget(steps=9), "seed": 3, "settings": {"xi": 0.5}}
    about |= {"task_parameters": {"noise": 0.5}, "records": (a_record(0), a_record(1)), "failure_rate": 0.0}
    about |= {"unfinished_rate": 0.0, "episodes": len(changes.get("records", ())) or 2}
    return Evaluation(**{**{field.name: 1 for field in needed}, **about, **changes})


def a_point(**changes):
    about = {"minutes": 1.0, "updates": 5, "return_mean": 2.0, "return_stderr": 0.5, "success_rate": 0.5}
    return CurvePoint(**{**about, "episodes": 10, "plan_steps": 100, **changes})


def a_training(**changes):
    about = {"conditioning": "belief", "critic": "set", "seed": 0, "minutes": 2.0, "updates": 7, "plans": 9}
    return AblationTraining(**{**about, "curve": (a_point(),), "evaluation": an_evaluation(), **changes})
