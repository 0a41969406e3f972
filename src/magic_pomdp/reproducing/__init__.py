"""The paper's tables and figures (Lee, Cai, Hsu, RSS 2021) again, by one command.

A table is declared as rows of numbers (`tables.py`); each number names the evaluation that it comes from, and the
training before that, if there is one (`plan.py`). `doing.py` runs what is missing, with the functions that `evaluate`,
`train` and `figures` call.
"""
