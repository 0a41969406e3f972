"""A robot with a loop, observations and a clock of its own: `python examples/own_robot.py`. Here a thread stands in for
it. It moves in real time, its images arrive late, when it is on its way again, and every tenth does not arrive."""

import itertools
import queue
import threading
import time

import magic_pomdp as mp

STEP, DELAY = 0.1, 0.03  # seconds that a step takes, and that an image needs to get here


def body(world, orders, done, images):
    """The robot itself: carries out one action after the other, and takes an image at the end of each."""
    for number in itertools.count():
        action = orders.get()
        time.sleep(STEP)
        happened, made = world.act(action), time.monotonic()
        done.put((happened.reward, happened.outcome))
        if number % 10 != 7:
            images.put((happened.observation, made))


def arrived(images):
    """The images that are here by now, in the order in which they were made."""
    while images.queue and images.queue[0][1] + DELAY <= time.monotonic():
        yield images.get()


def main(seed=0, seconds=0.4):
    task = mp.make("light-dark")
    planner, world = mp.running.PlannerFactory("magic")(task), mp.running.SimulatedWorld(task)
    mp.running.warm_up(task, planner, plans_ahead=True)  # else the first plan would compile while the robot waits
    belief = mp.Belief.initial(task, world.begin(seed, 0).context, impossible="recover")
    orders, done, images = queue.Queue(), queue.Queue(), queue.Queue()
    threading.Thread(target=body, args=(world, orders, done, images), daemon=True).start()
    total, outcome = 0.0, mp.Outcome.RUNNING
    with mp.running.Robot(
        planner, belief, budget=mp.Budget(seconds=seconds), plans_ahead=True, clock=time.monotonic
    ) as robot:
        while outcome == mp.Outcome.RUNNING:
            orders.put(robot.next_action(within=1.0))
            reward, outcome = done.get()
            total += reward
            for event in robot.observe_all(arrived(images)):
                if event.explanation in ("recovered", "ignored"):
                    print(f"After action {event.step} nothing that was believed explained what was seen.")
        latency = robot.latency()
    print(f"{outcome.word}, return {total:.1f}. From image to action: median {1000 * latency.p50:.1f} ms, ", end="")
    print(f"99 of 100 within {1000 * latency.p99:.1f} ms.")
    return outcome, latency


if __name__ == "__main__":
    main()
