"""Where states lie that are too small for outlines at 1:110 million, by ISO 3166-1 alpha-3 code."""

from __future__ import annotations

from collections.abc import Mapping

# Longitude and latitude in degrees.
SMALL: Mapping[str, tuple[float, float]] = {
    "AND": (1.6, 42.5), "ATG": (-61.8, 17.1), "BHR": (50.55, 26.05), "BRB": (-59.55, 13.2), "BMU": (-64.8, 32.3),
    "COK": (-159.8, -21.2), "COM": (43.4, -11.9), "CPV": (-23.6, 15.1), "DMA": (-61.4, 15.4), "FSM": (158.2, 6.9),
    "GRD": (-61.7, 12.1), "HKG": (114.2, 22.3), "KIR": (173.0, 1.4), "KNA": (-62.8, 17.3), "LCA": (-61.0, 13.9),
    "LIE": (9.55, 47.15), "MAC": (113.55, 22.2), "MCO": (7.4, 43.75), "MDV": (73.5, 4.2), "MHL": (171.2, 7.1),
    "MLT": (14.4, 35.9), "MUS": (57.55, -20.3), "NIU": (-169.9, -19.05), "NRU": (166.9, -0.5), "PLW": (134.5, 7.4),
    "SGP": (103.8, 1.35), "SMR": (12.45, 43.95), "STP": (6.7, 0.3), "SYC": (55.5, -4.65), "TON": (-175.2, -21.15),
    "TUV": (179.2, -8.5), "VAT": (12.45, 41.9), "VCT": (-61.2, 13.25), "WSM": (-172.1, -13.8),
}  # fmt: skip
# Outlines that carry no ISO number, by the name they have.
UNNUMBERED: Mapping[str, str] = {"XKX": "Kosovo"}
