"""Settings that suit Crowd-Driving."""

from magic_pomdp.core.belief import BeliefSettings
from magic_pomdp.planners.despot_settings import MacroDespotSettings
from magic_pomdp.planners.pomcpow import PomcpowSettings

SEARCH_DEPTH = 40
"""Primitive steps that a search looks ahead."""
ADVICE = (
    BeliefSettings(particles=500),
    MacroDespotSettings(scenarios=50, search_depth=SEARCH_DEPTH, macro_length=3),
    PomcpowSettings(25.0, 12.5, 0.025, 7.5, 0.05, search_depth=SEARCH_DEPTH),
)
