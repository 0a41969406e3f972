"""Puck-Push on a table under a camera: MuJoCo is the table, OpenCV the eyes.

MuJoCo looks for OpenGL once, when it is imported. So what it shall take is told here, before any module of this
package imports it: what needs no screen.
"""

import os
import sys
from ctypes.util import find_library

if sys.platform == "linux" and "MUJOCO_GL" not in os.environ:
    os.environ["MUJOCO_GL"] = "osmesa" if find_library("OSMesa") and not find_library("EGL") else "egl"
