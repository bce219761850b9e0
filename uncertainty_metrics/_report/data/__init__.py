"""The predictions of each task: classifier, answers, risks, regression, survival."""
