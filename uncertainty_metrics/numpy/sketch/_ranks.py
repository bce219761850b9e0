"""Answers of a sketch of scores that depend on the order of the scores."""

from __future__ import annotations

from uncertainty_metrics import _checks
from uncertainty_metrics.numpy.calibration.without_bins._pooled_scores import Cells
from uncertainty_metrics.numpy.selective import _selective_risks, _sorted_outcomes
from uncertainty_metrics.numpy.sketch import _bins_and_ranks, _grid, _stored_sketch


class AnswersAboutRanks(_stored_sketch.SketchState):
    """How well the order of the scores of a sketch predicts the outcomes."""

    def _decided(self, question: str) -> list[Cells]:
        """Returns the cells of the decisions in each group.

        Raises:
          ValueError: the scores are those of all classes.
        """
        groups = self._groups()
        if self._spec.positive_class:
            return [_bins_and_ranks.decisions(groups[0], self._bits(2))]
        if not self._spec.uses_decision:
            expected = f"made with max_prob=True for `{question}`"
            raise _checks.error("ScoreSketch", expected, repr(self))
        return groups

    def _ranked_decisions(self, question: str) -> _sorted_outcomes.Groups:
        cells, *others = self._decided(question)
        if others:
            self._one_group(question)  # Its message names the option.
        return _bins_and_ranks.ranking(cells, self._unit())

    def accuracy(self) -> float:
        """Accuracy: the share of right decisions, also with `positive_class`; of grades
        their mean.

        Returns:
          A share in [0, 1]. Larger is better.

        Raises:
          ValueError: an argument is not as described.
        """
        groups = self._decided("accuracy")
        hits, total = (
            sum(row.sum() for row in rows)
            for rows in zip(*((c.outcome_sums, c.weights) for c in groups), strict=True)
        )
        return float(hits / total)

    def auroc(self) -> float:
        """Area under the ROC curve of the scores, for true against false outcomes.

        With `positive_class` the scores are P(class 1), for labels 1 against 0. With
        `max_prob` they are confidences, for right against wrong decisions: how well
        confidence detects failures. With `max_prob=False` all pairs (p_k, y == k)
        count.

        Returns:
          A number in [0, 1]; 1/2 if scores tell nothing. Larger is better.

        Raises:
          ValueError: all outcomes are the same, or every class is a group of its own,
            or there are grades.

        References:
          Hanley and McNeil (1982), The Meaning and Use of the Area under a Receiver
          Operating Characteristic (ROC) Curve.
        """
        self._check_binary("auroc")
        groups = _bins_and_ranks.ranking(self._one_group("auroc"), self._unit())
        hits, misses = groups.hits, groups.misses
        if hits[-1] == 0 or misses[-1] == 0:
            raise _checks.error(
                "ScoreSketch",
                "both true and false outcomes for `auroc`",
                "one kind",
                verb="hold",
            )
        return _sorted_outcomes.trapezoids(misses, hits) / float(hits[-1] * misses[-1])

    def area_under_risk_coverage_curve(self) -> float:
        """Area under the risk-coverage curve, of decisions. Alias `aurc`.

        A grade y between 0 and 1 counts as the loss 1 - y.

        Returns:
          A number in [0, 1]. Smaller is better; the error rate if confidence tells
          nothing.

        Raises:
          ValueError: an argument is not as described.

        References:
          Geifman, Uziel and El-Yaniv (2019), Bias-Reduced Uncertainty Estimation for
          Deep Neural Classifiers.
        """
        groups = self._ranked_decisions("area_under_risk_coverage_curve")
        return _selective_risks.mean_risk(groups)

    def excess_aurc(self) -> float:
        """Excess AURC, of decisions. Alias `e_aurc`.

        Returns:
          A number in [0, 1]. Smaller is better; 0 if every right decision is more
          confident than every wrong decision.

        Raises:
          ValueError: an argument is not as described, or there are grades: a sketch
            does not know their best order.

        References:
          Geifman, Uziel and El-Yaniv (2019), Bias-Reduced Uncertainty Estimation for
          Deep Neural Classifiers.
        """
        self._check_binary("excess_aurc")
        return _selective_risks.excess_risk(self._ranked_decisions("excess_aurc"))

    def area_under_generalized_risk_coverage_curve(self) -> float:
        """Area under the generalized risk-coverage curve. Alias `augrc`.

        A grade y between 0 and 1 counts as the loss 1 - y.

        Returns:
          A number in [0, 1/2], the probability that a random example is wrong and more
          confident than another one. Smaller is better.

        Raises:
          ValueError: an argument is not as described.

        References:
          Traub et al. (2024), Overcoming Common Flaws in the Evaluation of Selective
          Classification Systems.
        """
        groups = self._ranked_decisions("area_under_generalized_risk_coverage_curve")
        return _selective_risks.generalized_risk(groups)

    def conformal_quantile(self, alpha: float) -> float:
        """Conformal quantile q of the scores 1 - p of the labels, the method "lac".

        The quantile is the upper end of the cell that contains the exact quantile, so
        it is a little larger: the sets {k: 1 - p_k <= q} keep their coverage. In the
        `classes` of a loaded `Summary` it is the upper end of a block of at least five
        examples. Weights count as numbers of examples. Sets keep their coverage for
        independent examples; those in clusters are refused.

        Args:
          alpha: share of labels that sets may miss, in (0, 1).

        Returns:
          The quantile in [0, 1], or +inf: see `conformal.conformal_quantile`.

        Raises:
          ValueError: `alpha` is not as described; there are grades; or the scores are
            those of decided classes, which do not tell the probability of the label.
            Make the sketch with `max_prob=False` or `positive_class=True`.
        """
        alpha = _checks.open_unit("alpha", alpha)
        self._check_independent("conformal_quantile")
        self._check_binary("conformal_quantile")
        if self._spec.uses_decision:
            expected = (
                "made with max_prob=False or positive_class=True for "
                "`conformal_quantile`"
            )
            raise _checks.error("ScoreSketch", expected, repr(self))
        if self._is_moved:
            expected = "the `classes` of a `Summary` for `conformal_quantile`"
            raise _checks.error("ScoreSketch", expected, "its `events`")
        groups = self._groups()
        _, largest = _grid.rounded_limits(*self._bits(self._content.classes or 2))
        sums = self._content.sums
        assert sums is not None  # Or `_groups` raises.
        least = self._least_at(sums.places)
        both = bool(self._spec.positive_class)
        return _bins_and_ranks.conformal_quantile(groups, least, largest, both, alpha)

    aurc = area_under_risk_coverage_curve
    e_aurc = excess_aurc
    augrc = area_under_generalized_risk_coverage_curve
