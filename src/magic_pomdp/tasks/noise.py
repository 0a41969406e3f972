"""Normal numbers that are positive, or that something is known of, and how likely they are."""

import math

from numba import njit

from magic_pomdp.core.randomness import normal

LOG_TWO_PI = math.log(2.0 * math.pi)


@njit
def positive_normal(mean, noise, drawn, random):
    """The normal number that a standard one, drawn already, stands for. If it is not positive, another is drawn."""
    value = mean + noise * drawn
    while value <= 0.0:
        value = mean + noise * normal(random)
    return value


@njit
def informed_normal(mean, noise, seen, seen_noise, random):
    """A normal number drawn knowing what was seen of it, and ln of how much likelier it is for who has not looked."""
    if noise == 0.0:
        return mean, 0.0
    trust = noise**2 / (noise**2 + seen_noise**2)
    drawn = normal(random)
    shift = trust * (seen - mean) + math.sqrt(1.0 - trust) * noise * drawn
    return mean + shift, 0.5 * (drawn**2 - (shift / noise) ** 2 + math.log(1.0 - trust))


@njit
def log_noise_density(off_x, off_y, noise):
    """Logarithm of the density of two normal numbers around 0."""
    return -0.5 * (off_x * off_x + off_y * off_y) / noise**2 - 2.0 * math.log(noise) - LOG_TWO_PI
