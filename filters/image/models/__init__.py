"""Networks on pictures: conversion to ONNX, framing, and their results."""
