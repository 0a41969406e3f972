"""How fast Crowd-Driving is, how its cost grows with the number of cars, what its traffic is like, and how far a driver
comes who does not plan; also in SUMO.

python benchmarks/crowd_driving.py speed|traffic|driver|sumo [--minutes 1000] [--json FILE] [--plot FILE]
"""

import argparse
import json
import os
import platform
import time

import numpy as np
from numba import njit

from magic_pomdp import Belief, Budget, MacroDespot, Outcome, make
from magic_pomdp.planners import MacroDespotSettings, borrow
from magic_pomdp.random import seek, stream_key
from magic_pomdp.running import SimulatedWorld
from magic_pomdp.tasks.crowd_driving.fingerprint import traffic_fingerprint

CARS = (5, 10, 15, 25, 50, 100, 200)
EPISODE = 50


@njit(error_model="numpy")
def simulate(task, context, start, action, key, random, observation, states, episodes):
    """World steps from the start of an episode on, again and again, whatever happens to the robot."""
    context, start, action, random = borrow(context), borrow(start), borrow(action), borrow(random)
    observation, states = borrow(observation), borrow(states)
    state = states[0]
    for episode in range(episodes):
        for j in range(len(start)):
            state[j] = start[j]
        for step in range(EPISODE):
            seek(random, key, EPISODE * episode + step)
            task.step(context, state, action, random, observation)
            state[len(state) - 1] = 0.0


def world_steps_per_second(task, episodes=200, starts=5):
    """Steps per second of processor time."""
    seconds = 0.0
    for start in range(starts):
        world = SimulatedWorld(task)
        world.begin(seed=0, episode=start)
        room = np.empty(1, np.uint64), np.zeros(task.observation_size), np.zeros((1, task.state_size))
        arguments = task, world.context, world.state, np.array([3.0, 0.0]), stream_key(1), *room
        simulate(*arguments, 1)
        began = time.process_time()
        simulate(*arguments, episodes)
        seconds += time.process_time() - began
    return starts * episodes * EPISODE / seconds


def speed():
    """World steps, planning steps and belief updates, one core."""
    task = make("crowd-driving")
    world, action, updates = SimulatedWorld(task), np.array([3.0, 0.0]), []
    belief = Belief.initial(task, world.begin(seed=0, episode=0).context)
    for _ in range(20):
        observation = world.act(action).observation
        began = time.process_time()
        belief.update(action, observation)
        updates.append(time.process_time() - began)
    found = {"belief_update_ms": 1000.0 * float(np.median(updates))}
    for policy in ("guided", "greedy", "random"):
        planner = MacroDespot(task, settings=MacroDespotSettings.advised(task, default_policy=policy))
        planner.plan(belief, budget=Budget(steps=1))
        began = time.process_time()
        steps = sum(planner.plan(belief, budget=Budget(steps=100_000), seed=seed).steps for seed in range(4))
        found[f"planning_steps_per_second_{policy}"] = steps / (time.process_time() - began)
    rates = {str(cars): world_steps_per_second(make("crowd-driving", cars=cars), max(2, 3000 // cars)) for cars in CARS}
    return found | {"world_steps_per_second": rates}


def driver(episodes=400):
    """What the guide's driver returns, who decides anew in every step, on the empty road and among 15 cars; seed 0."""
    found = {}
    for variant in ("default", "reference"):
        for cars in (0, 15):
            task = make("crowd-driving", variant=variant, cars=cars)
            returns = np.array([drive(task, episode) for episode in range(episodes)])
            error = returns.std(ddof=1) / np.sqrt(episodes)
            found[f"{variant}, {cars} cars"] = {"return_mean": returns.mean(), "return_stderr": error}
    return found | {"episodes": episodes}


def drive(task, episode):
    """The return of an episode."""
    world, total, outcome = SimulatedWorld(task), 0.0, Outcome.RUNNING
    world.begin(seed=0, episode=episode)
    while outcome == Outcome.RUNNING:
        happened = world.act(np.array(task.drive(world.context, world.state)))
        total, outcome = total + happened.reward, happened.outcome
    return total


def sumo(episodes=100):  # returns vary much: 20 are too few to tell them
    """How fast the world in SUMO is, what its traffic is like, and what the driver returns there who does not plan."""
    from magic_pomdp.tasks.crowd_driving.gamma import CAR
    from magic_pomdp.transfer import find_other_world

    task = make("crowd-driving")
    world = find_other_world("crowd-driving").factory()(task)
    returns, near, steps, seconds = [], [], 0, 0.0
    for episode in range(episodes):
        context, total, outcome = world.begin(1000, episode).context, 0.0, Outcome.RUNNING
        while outcome == Outcome.RUNNING:
            cars = world.state[: CAR * (task.cars + 1)].reshape(-1, CAR)
            near.append((np.hypot(*(cars[1:, :2] - cars[0, :2]).T) < 50.0).sum())
            action = np.array(task.drive(context, world.state))
            began = time.process_time()
            _, reward, outcome = world.act(action)
            seconds += time.process_time() - began
            total, steps = total + reward, steps + 1
        returns.append(total)
    return {
        "times_real_time": 0.2 * steps / seconds,
        "cars_within_50_m": float(np.mean(near)),
        "driver_return": float(np.mean(returns)),
        "driver_return_stderr": float(np.std(returns, ddof=1) / np.sqrt(episodes)),
        "episodes": episodes,
    }


def draw(rates, path):
    """Time of a world step against the number of cars."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5, 3.2), layout="constrained")
    axes = figure.subplots()
    cars = np.array([int(count) for count in rates])
    axes.loglog(cars, [1e6 / rate for rate in rates.values()], "o-")
    axes.loglog(cars, cars / 15 * 1e6 / rates["15"], ":", color="grey", label="proportional to the cars")
    axes.set(xlabel="other cars", ylabel="µs a world step")
    axes.legend()
    figure.savefig(path, dpi=120)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("what", choices=("speed", "traffic", "driver", "sumo"))
    arguments.add_argument(
        "--minutes", type=float, default=1000.0, help="simulated minutes of traffic, of each variant"
    )
    arguments.add_argument("--json", help="where to save the result")
    arguments.add_argument("--plot", help="where to save the plot of speed")
    given = arguments.parse_args()
    if given.what == "speed":
        found = speed()
        if given.plot:
            draw(found["world_steps_per_second"], given.plot)
    elif given.what == "driver":
        found = driver()
    elif given.what == "sumo":
        found = sumo()
    else:
        episodes = max(1, round(2.0 * given.minutes))
        tasks = [make("crowd-driving", variant=variant) for variant in ("default", "reference")]
        found = {task.variant: traffic_fingerprint(task, episodes) for task in tasks}
    found |= {"machine": platform.machine(), "load": os.getloadavg()}
    print(json.dumps(found, indent=1))
    if given.json:
        with open(given.json, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
