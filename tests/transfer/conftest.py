import pytest

from magic_pomdp.transfer.table.rendering import missing_part


@pytest.fixture(scope="session")
def table_parts():
    """For what needs MuJoCo, OpenCV and OpenGL without a screen."""
    if sentence := missing_part():
        pytest.skip(sentence)
