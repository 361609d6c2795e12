"""Terms of adverts for betting and paid sex, in many languages."""
