"""Whether all is there that a camera needs."""

import os
import warnings
from functools import cache
from importlib.util import find_spec

from magic_pomdp.core.extras import install_command

_PACKAGES = {"mujoco": "mujoco", "cv2": "opencv-python-headless"}
_NO_OPENGL = (
    "The camera needs OpenGL without a screen, and there is none here: install EGL or OSMesa (Debian: libegl1 with "
    "libegl-mesa0, or libosmesa6)"
)


@cache
def missing_part() -> str:
    """A sentence that says what to install before a camera can see anything; "" if all is there."""
    for module, package in _PACKAGES.items():
        if find_spec(module) is None:
            return f"A table under a camera needs {package}: {install_command('transfer')}."
    try:
        import mujoco

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they say, an error says as well
            mujoco.Renderer(mujoco.MjModel.from_xml_string("<mujoco/>"), 8, 8).close()
    except Exception as error:  # whatever a driver, or what loads one, says
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        return f"{_NO_OPENGL}; MUJOCO_GL is {os.environ.get('MUJOCO_GL', 'not set')} ({reason})."
    return ""
