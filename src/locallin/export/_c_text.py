"""Pieces of C: @ stands for the name of the header, @@ for it in capitals."""

HEAD = """\
/* KIND in C99. Needs no library but math.h (-lm) and allocates nothing.
 *
 * void @_scores(const float *x, float *scores)
WHATMORE *
NUMBERS
 * Local arrays take at most STACK bytes of the stack.
 */
#ifndef @@_H
#define @@_H

#include <math.h>

"""

CLASSES = """\
 *     x: @@_FEATURES numbers. scores: @@_SCORES numbers, one per class; for two
 *     classes one number, positive for the second.
 * int @_predict(const float *x)
 *     Index of the class; its name is @_classes[index].
"""

SEVERAL = """\
 *     x: @@_FEATURES numbers. scores: @@_SCORES numbers that are predicted.
"""

NUMBER = """\
 *     x: @@_FEATURES numbers. scores: the number that is predicted.
 * float @_predict(const float *x)
 *     The same number.
"""

LOGARITHM = """\
 *     x: @@_FEATURES numbers. scores: the logarithm of the number that is predicted.
 * float @_predict(const float *x)
 *     The number.
"""

LOGARITHMS = """\
 *     x: @@_FEATURES numbers. scores: logarithms of the @@_SCORES numbers that are
 *     predicted.
 * void @_predict(const float *x, float *numbers)
 *     The numbers.
"""

TELL_PROBA = """\
 * void @_proba(const float *x, float *proba)
 *     proba: @@_CLASSES numbers, the probabilities of the classes.
"""

TELL_CONTRIBUTIONS = """\
 * void @_contributions(const float *x, float *parts)
 *     parts: @@_FEATURES + 1 numbers, what each number of x adds to the score of the
 *     predicted class, and the bias. They add up to the score.
"""

NO_GAPS = " * Numbers must be finite, and their squares within the range of a float."
GAPS = " * A number is finite, or NaN where it is missing."

MEAN = """\
    float part[@@_SCORES];
    for (int c = 0; c < @@_SCORES; c++)
        scores[c] = 0.0f;
CALLS    for (int c = 0; c < @@_SCORES; c++)
        scores[c] *= FACTOR;
"""

ADD_MEMBER = """\
    @_MEMBER_scores(ROW, part);
    for (int c = 0; c < @@_SCORES; c++)
        scores[c] += part[c];
"""

EACH_SCORE = """\
    for (int c = 0; c < @@_SCORES; c++)
        scores[c] = FORMULA;
"""

SCORES = """\
static inline void @_scores(const float *x, float *scores)
{
BODY}
"""

PREDICT_TWO = """\
static inline int @_predict(const float *x)
{
    float score;
    (void)@_classes;
    @_scores(x, &score);
    return score > 0.0f;
}
"""

PREDICT_NUMBER = """\
static inline float @_predict(const float *x)
{
    float score;
    @_scores(x, &score);
    return score;
}
"""

POWER = """\
static inline float @_power(float score)
{
    return expf(fminf(fmaxf(score, -MOST), MOST));
}

"""

PREDICT_POWER = (
    POWER
    + """\
static inline float @_predict(const float *x)
{
    float score;
    @_scores(x, &score);
    return @_power(score);
}
"""
)

PREDICT_POWERS = (
    POWER
    + """\
static inline void @_predict(const float *x, float *numbers)
{
    @_scores(x, numbers);
    for (int c = 0; c < @@_SCORES; c++)
        numbers[c] = @_power(numbers[c]);
}
"""
)

SORT = """\
    for (int c = 1; c < @@_SCORES; c++)
        for (int k = c; k > 0 && scores[k] < scores[k - 1]; k--) {
            const float higher = scores[k - 1];
            scores[k - 1] = scores[k];
            scores[k] = higher;
        }
"""

PREDICT_MANY = """\
static inline int @_predict(const float *x)
{
    float scores[@@_SCORES];
    int best = 0;
    (void)@_classes;
    @_scores(x, scores);
    for (int c = 1; c < @@_SCORES; c++)
        if (scores[c] > scores[best])
            best = c;
    return best;
}
"""

PARTS = """\
static inline void @_parts(const float *ROW, int c, float factor, const int *column,
                           float *parts, float *bias)
{
BODY}
"""

CONTRIBUTIONS = """\
static inline void @_contributions(const float *x, float *parts)
{
FIND_BESTSTAGES    for (int k = 0; k <= @@_FEATURES; k++)
        parts[k] = 0.0f;
    @_parts(ROW, SCORE, @_column, parts, parts + @@_FEATURES);
}
"""

FIND_BEST = "    const int best = @_predict(x);\n"
CONTRIBUTIONS = CONTRIBUTIONS.replace("FIND_BEST", FIND_BEST)
THE_NUMBER = "0, 1.0f"
THE_ONE = "0, best ? 1.0f : -1.0f"
THE_BEST = "best, 1.0f"

ADD_PARTS = """\
    @_MEMBER_parts(ROW, c, FACTOR * factor, column, parts, bias);
"""

DISTANCE = """\
static inline float @_squared_distance(const float *x, int j)
{
    const float *v = @_anchors + (long)j * @@_DIMENSIONS;
    float total = 0.0f;
    for (int i = 0; i < @@_DIMENSIONS; i++)
        total += (x[i] - v[i]) * (x[i] - v[i]);
    return total;
}
"""

SCALED = """\
    float z[@@_DIMENSIONS];
    for (int i = 0; i < @@_DIMENSIONS; i++)
        z[i] = @_metric[i] * ROW[i];
"""

PROJECTED = """\
    float z[@@_DIMENSIONS];
    for (int k = 0; k < @@_DIMENSIONS; k++) {
        z[k] = 0.0f;
        for (int i = 0; i < SIZE; i++)
            z[k] += @_metric[(long)k * SIZE + i] * ROW[i];
    }
"""

NO_SCORES = """\
    for (int c = 0; c < @@_SCORES; c++)
        scores[c] = 0.0f;
"""

NO_PARTS = """\
    (void)column, (void)parts;
"""

LINEAR_PARTS = """\
        const float *w = @_coef + ((long)j * @@_SCORES + c) * SIZE;
        for (int i = 0; i < SIZE; i++)
            parts[column[i]] += factor * g * w[i] * ROW[i];
        *bias += factor * g * @_intercept[j * @@_SCORES + c];
"""

CONSTANT_PARTS = """\
        *bias += factor * g * @_intercept[j * @@_SCORES + c];
"""

LINEAR = """\
        for (int c = 0; c < @@_SCORES; c++) {
            const float *w = @_coef + ((long)j * @@_SCORES + c) * SIZE;
            float value = @_intercept[j * @@_SCORES + c];
            for (int i = 0; i < SIZE; i++)
                value += w[i] * ROW[i];
            scores[c] += g * value;
        }
"""

CONSTANT = """\
        for (int c = 0; c < @@_SCORES; c++)
            scores[c] += g * @_intercept[j * @@_SCORES + c];
"""

LOOK = """\
static inline int @_look(const float *x, int least, int *chosen)
{
    float distance[@@_GROUPS];
    int count = 0;
    for (int g = 0; g < @@_GROUPS; g++) {
        const float *v = @_group_centers + (long)g * @@_DIMENSIONS;
        distance[g] = 0.0f;
        for (int i = 0; i < @@_DIMENSIONS; i++)
            distance[g] += (x[i] - v[i]) * (x[i] - v[i]);
    }
    for (int p = 0; p < @@_GROUPS && (p < @@_PROBES || count < least); p++) {
        int g = 0;
        for (int h = 1; h < @@_GROUPS; h++)
            if (distance[h] < distance[g])
                g = h;
        for (int q = @_group_starts[g]; q < @_group_starts[g + 1]; q++)
            chosen[count++] = @_group_members[q];
        distance[g] = INFINITY;
    }
    return count;
}
"""

# The anchors that a row looks at: all of them, or those of its nearest groups.
EACH_ANCHOR = "for (int j = 0; j < @@_ANCHORS; j++) {"
EACH_CHOSEN = """\
for (int q = 0; q < count; q++) {
        const int j = chosen[q];"""
CHOOSE = """\
    int chosen[@@_ANCHORS];
    const int count = @_look(PLACE, LEAST, chosen);
"""

# Newton's method on sum (level - u)+^2 = 1 from above: every step stays above the root.
ADAPTIVE = """\
    float u[@@_ANCHORS];
    float least = INFINITY, level = 1.0f, total = 0.0f;
    EACH
        u[j] = PRICE * sqrtf(@_squared_distance(PLACE, j));
        if (u[j] < least)
            least = u[j];
    }
    for (int step = 0; step < 50; step++) {
        float squares = 0.0f, change;
        total = 0.0f;
        EACH
            const float room = level - (u[j] - least);
            if (room > 0.0f) {
                total += room;
                squares += room * room;
            }
        }
        change = 0.5f * (squares - 1.0f) / total;
        if (!(change > 1e-7f * level))
            break;
        level -= change;
    }
BEGIN    EACH
        const float g = (level - (u[j] - least)) / total;
        if (!(g > 0.0f))
            continue;
LOCAL    }
"""

NEAREST = """\
    float weights[@@_NEIGHBORS];
    int nearest[@@_NEIGHBORS];
    float total = 0.0f;
    EACH
        const float square = @_squared_distance(PLACE, j);
        int p = COUNT < @@_NEIGHBORS ? COUNT : @@_NEIGHBORS - 1;
        if (COUNT >= @@_NEIGHBORS && !(square < weights[p]))
            continue;
        for (; p > 0 && weights[p - 1] > square; p--) {
            weights[p] = weights[p - 1];
            nearest[p] = nearest[p - 1];
        }
        weights[p] = square;
        nearest[p] = j;
    }
WEIGHTSBEGIN    for (int p = 0; p < @@_NEIGHBORS; p++) {
        const int j = nearest[p];
        const float g = weights[p] / total;
LOCAL    }
"""

INVERSE_DISTANCE = """\
    const float first = sqrtf(weights[0]);
    for (int p = 0; p < @@_NEIGHBORS; p++) {
        if (first > 0.0f)
            weights[p] = first / sqrtf(weights[p]);
        else
            weights[p] = weights[p] > 0.0f ? 0.0f : 1.0f;
        total += weights[p];
    }
"""

SOFT = """\
    const float first = weights[0];
    for (int p = 0; p < @@_NEIGHBORS; p++) {
        weights[p] = expf(-PRICE * (weights[p] - first));
        total += weights[p];
    }
"""

SOFT_BY_ANCHOR = """\
    float least = INFINITY;
    for (int p = 0; p < @@_NEIGHBORS; p++) {
        weights[p] *= @_bandwidth[nearest[p]];
        if (weights[p] < least)
            least = weights[p];
    }
    for (int p = 0; p < @@_NEIGHBORS; p++) {
        weights[p] = expf(least - weights[p]);
        total += weights[p];
    }
"""

CLASS_SCORE = """\
static inline float @_class_score(const float *x, int c)
{
    float z[@@_MODELS];
    float best = 0.0f;
    for (int j = 0; j < @@_MODELS; j++) {
        const float *w = @_coef + ((long)c * @@_MODELS + j) * SIZE;
        z[j] = @_intercept[c * @@_MODELS + j];
        for (int i = 0; i < SIZE; i++)
            z[j] += w[i] * x[i];
        if (z[j] > best)
            best = z[j];
    }
NORM}
"""

NORM = """\
    if (!(best > 0.0f))
        return 0.0f;
    float total = 0.0f;
    for (int j = 0; j < @@_MODELS; j++) {
        const float r = z[j] / best;
        if (r > 0.0f)
            total += POWER;
    }
    return best * powf(total, ROOT);
"""

TWO_CLASSES = """\
    scores[0] = @_class_score(ROW, 1) - @_class_score(ROW, 0);
"""

MANY_CLASSES = """\
    for (int c = 0; c < @@_SCORES; c++)
        scores[c] = @_class_score(ROW, c);
"""

CLASS_PARTS = """\
static inline void @_class_parts(const float *x, int c, float factor,
                                 const int *column, float *parts, float *bias)
{
    float z[@@_MODELS];
    float best = 0.0f;
    for (int j = 0; j < @@_MODELS; j++) {
        const float *w = @_coef + ((long)c * @@_MODELS + j) * SIZE;
        z[j] = @_intercept[c * @@_MODELS + j];
        for (int i = 0; i < SIZE; i++)
            z[j] += w[i] * x[i];
        if (z[j] > best)
            best = z[j];
    }
    if (!(best > 0.0f))
        return;
WEIGHTS    for (int j = 0; j < @@_MODELS; j++) {
        const float *w = @_coef + ((long)c * @@_MODELS + j) * SIZE;
        const float g = factor * z[j];
        if (!(z[j] > 0.0f))
            continue;
        for (int i = 0; i < SIZE; i++)
            parts[column[i]] += g * w[i] * x[i];
        *bias += g * @_intercept[c * @@_MODELS + j];
    }
}
"""

BEST_WEIGHT = """\
    int found = 0;
    for (int j = 0; j < @@_MODELS; j++) {
        z[j] = !found && z[j] == best ? 1.0f : 0.0f;
        found |= z[j] > 0.0f;
    }
"""

LATENT_WEIGHTS = """\
    float total = 0.0f;
    for (int j = 0; j < @@_MODELS; j++) {
        const float r = z[j] / best;
        if (r > 0.0f)
            total += POWER;
    }
    for (int j = 0; j < @@_MODELS; j++)
        z[j] = z[j] > 0.0f ? powf(z[j] / best, LESS) * powf(total, ROOT) : 0.0f;
"""

TWO_PARTS = """\
    @_class_parts(ROW, 1 + c, factor, column, parts, bias);
    @_class_parts(ROW, c, -factor, column, parts, bias);
"""

MANY_PARTS = """\
    @_class_parts(ROW, c, factor, column, parts, bias);
"""
