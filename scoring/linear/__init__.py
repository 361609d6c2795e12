"""Models with closed-form scores, in numpy and numba: a softmax head, and a log-linear model of bytes."""
