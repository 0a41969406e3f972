"""What a task looks like: shapes, and the scene that they make up."""

from magic_pomdp.core.scene import Circle, Handle, Line, Polygon, Scene, Text, Track, box, rectangle

__all__ = ["Circle", "Handle", "Line", "Polygon", "Scene", "Text", "Track", "box", "rectangle"]
