"""Probabilities of the scores, in C."""

import numpy as np


def probabilities(header, link) -> str:
    """A function that writes what ``predict_proba`` returns; its tables are written."""
    scale = header.number(link.scale)
    if len(link.offset) == 2:
        shift = header.number(link.offset[1] - link.offset[0])
        return _TWO.replace("SCALE", scale).replace("SHIFT", shift)
    offset = link.offset - link.offset.max()
    if link.kind == "multinomial":
        header.table("proba_offset", offset)
        body = _SOFTMAX
    else:
        header.table("proba_factor", np.exp(offset))
        body = _AGAINST_THE_REST
    return _MANY.replace("BODY", body).replace("SCALE", scale)


_TWO = """\
static inline void @_proba(const float *x, float *proba)
{
    float score;
    @_scores(x, &score);
    proba[1] = 1.0f / (1.0f + expf(-(SCALE * score + SHIFT)));
    proba[0] = 1.0f - proba[1];
}
"""

_MANY = """\
static inline void @_proba(const float *x, float *proba)
{
    float total = 0.0f;
    @_scores(x, proba);
BODY    for (int c = 0; c < @@_CLASSES; c++)
        proba[c] = total > 0.0f ? proba[c] / total : 1.0f / @@_CLASSES;
}
"""

_SOFTMAX = """\
    float most = -INFINITY;
    for (int c = 0; c < @@_CLASSES; c++) {
        proba[c] = SCALE * proba[c] + @_proba_offset[c];
        if (proba[c] > most)
            most = proba[c];
    }
    for (int c = 0; c < @@_CLASSES; c++) {
        proba[c] = expf(proba[c] - most);
        total += proba[c];
    }
"""

_AGAINST_THE_REST = """\
    for (int c = 0; c < @@_CLASSES; c++) {
        proba[c] = @_proba_factor[c] / (1.0f + expf(-SCALE * proba[c]));
        total += proba[c];
    }
"""
