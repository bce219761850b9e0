"""The functions on tensors of PyTorch, and streaming metrics as those of torchmetrics.

    import uncertainty_metrics.torch as um

The import makes Keras, which has the arithmetic, run on PyTorch; no environment
variable is needed. If Keras runs on another backend already, it raises ImportError.

The names are those of `uncertainty_metrics`. Functions take and return tensors. Metrics
are classes of torchmetrics where that is installed, else modules with the same methods;
losses are modules. Both take `(preds, target)`.
"""

from uncertainty_metrics import _chosen_backend

_chosen_backend.choose("torch")

from uncertainty_metrics._torch import names as _names  # noqa: E402
from uncertainty_metrics._torch.loss import Loss as Loss  # noqa: E402
from uncertainty_metrics._torch.metric import Metric as Metric  # noqa: E402

__getattr__, __dir__, __all__ = _names.attach(__name__)
