"""Models whose score has a closed form, in numpy and numba: a softmax head, and a log-linear model of bytes."""
