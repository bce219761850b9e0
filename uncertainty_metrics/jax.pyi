from uncertainty_metrics import *  # noqa: F403
