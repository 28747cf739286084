"""Property tests are about what is true, not about how long it took: a busy machine must not fail them."""

from hypothesis import settings

settings.register_profile("shoal", deadline=None)
settings.load_profile("shoal")
