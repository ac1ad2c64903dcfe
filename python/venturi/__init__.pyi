from venturi.python_api import Repository as Repository
from venturi.python_api import open as open

__version__: str
