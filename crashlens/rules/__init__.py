"""What one record says (line rules), how a training step is printed (step lines), how records relate (sequences).

All three are TOML tables with their own examples, loaded once, checked as a whole and compiled into the matcher that
scan/ receives. A rule states a topic, never a cause. `load` puts files of your own beside the shipped ones.
"""

from crashlens.rules.load import shipped_rules as shipped
from crashlens.rules.own import load_own as load

__all__ = ["load", "shipped"]
