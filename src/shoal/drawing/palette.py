"""One palette for every picture: certificates, comparison pages, notebooks and the app.

What is raw has one colour and what is released another, wherever they are drawn. Red is for rows that a promise would have to protect, and
for nothing else. All meet 3:1 against their page, in light and in dark.
"""

from __future__ import annotations

TONES = {"before": "#9a6700", "after": "#1b6b72", "plain": "#4a6fa5", "bad": "#a3260f", "gone": "#6b7478"}
"""Raw, released, neither of the two, at risk, left out."""
DARK_TONES = {"before": "#e0b050", "after": "#4fb0b9", "plain": "#8fb0e0", "bad": "#ff9d88", "gone": "#98a4a8"}
SERIES = ("#1b6b72", "#c1440e", "#4a6fa5", "#8e4585", "#3f7d3a", "#b0305c", "#7a5c3e", "#5c5c5c")
"""Of several releases. Apart from each other for the common kinds of colour blindness; markers tell them apart in any case."""
DARK_SERIES = ("#4fb0b9", "#f0875a", "#8fb0e0", "#cf8fc6", "#86c47f", "#ee86a8", "#c9a683", "#b0b0b0")
