"""A made-up grocery store: the data of the demo, so that a release can be read by anyone who ever went shopping.

Every basket has an occasion (breakfast, a barbecue, a new baby, ...) that makes some shelves more likely; within a category
the first products sell most (Zipf). A few products are hardly ever sold: they are what singles a customer out.
A basket is drawn without repeats by adding Gumbel noise to log-probabilities and taking the highest: all baskets of a block at
once, in one matrix.
"""

from __future__ import annotations

import numpy as np

from shoal.numbers import Floats, Ints, whole_number
from shoal.records.baskets import Baskets

_STORE: dict[str, dict[str, tuple[float, str]]] = {
    "fruit and vegetables": {
        "fruit": (9, "bananas, apples, grapes, strawberries, lemons, mangoes"),
        "vegetables": (9, "potatoes, onions, carrots, broccoli, garlic, mushrooms"),
        "salad": (6, "tomatoes, cucumber, lettuce, avocados"),
        "fresh herbs": (1.5, "basil, coriander, mint, lemongrass"),
    },
    "bakery": {
        "bread": (8, "wholemeal bread, white bread, sourdough loaf, rye bread"),
        "rolls and wraps": (4, "burger buns, tortilla wraps, bagels, hot dog rolls"),
        "cakes and pastries": (3, "croissants, muffins, birthday cake"),
    },
    "dairy and eggs": {
        "milk": (9, "semi-skimmed milk, whole milk, oat milk, lactose free milk, goat milk"),
        "cheese": (6, "cheddar, mozzarella, brie, feta, parmesan, roquefort"),
        "yoghurt": (5, "natural yoghurt, strawberry yoghurt, skyr"),
        "butter and eggs": (6, "eggs, butter, margarine"),
    },
    "meat and fish": {
        "poultry": (5, "chicken breast, chicken thighs, turkey mince"),
        "beef and pork": (5, "beef mince, bacon, pork chops, steak"),
        "sausages and ham": (4, "pork sausages, cooked ham, salami, chorizo"),
        "fish": (3, "salmon fillets, cod fillets, prawns, oysters"),
    },
    "pantry": {
        "pasta and rice": (5, "spaghetti, penne, basmati rice, noodles"),
        "tins and jars": (5, "chopped tomatoes, baked beans, tuna, chickpeas, pasta sauce, anchovies"),
        "baking": (3, "flour, sugar, baking powder, chocolate chips, vanilla extract"),
        "oils and sauces": (4, "olive oil, ketchup, mayonnaise, soy sauce, barbecue sauce, truffle oil"),
        "spices": (2, "black pepper, sea salt, paprika, cumin, saffron"),
        "cereals and spreads": (5, "porridge oats, cornflakes, strawberry jam, peanut butter, honey"),
    },
    "drinks": {
        "coffee and tea": (5, "ground coffee, black tea, instant coffee, green tea"),
        "juice and soft drinks": (6, "orange juice, cola, sparkling water, apple juice, lemonade"),
        "beer and cider": (3, "lager, pale ale, cider, alcohol free beer"),
        "wine and spirits": (3, "red wine, white wine, prosecco, gin, absinthe"),
    },
    "snacks and sweets": {
        "crisps and nuts": (5, "salted crisps, tortilla chips, salted peanuts, cashews"),
        "chocolate and sweets": (5, "milk chocolate, gummy bears, dark chocolate, liquorice"),
        "biscuits": (3, "digestive biscuits, chocolate cookies, shortbread"),
        "ice cream": (3, "vanilla ice cream, ice lollies"),
    },
    "household and pets": {
        "cleaning": (4, "washing up liquid, laundry detergent, bin bags, sponges"),
        "paper goods": (4, "toilet roll, kitchen roll, tissues, napkins"),
        "party and barbecue": (2, "charcoal, paper plates, birthday candles, balloons, fireworks"),
        "pets": (3, "dry cat food, cat litter, dog food, dog treats, hamster bedding"),
    },
    "health and baby": {
        "baby": (3, "nappies size 3, baby wipes, fruit pouches, baby formula, nappies size 5"),
        "toiletries": (4, "toothpaste, shampoo, shower gel, deodorant, hair dye"),
        "pharmacy": (
            3,
            "paracetamol, plasters, vitamins, cough syrup, pregnancy test, glucose test strips, nicotine gum",
        ),
    },
}
"""Department, category, how well the category sells, and its products, the best seller first."""

_RARE = {
    "lemongrass", "goat milk", "roquefort", "oysters", "anchovies", "truffle oil", "saffron", "absinthe", "fireworks",
    "hamster bedding", "hair dye", "pregnancy test", "glucose test strips", "nicotine gum",
}  # fmt: skip
_RARE_SALES = 0.025
"""How well each of them sells: a handful in ten thousand baskets."""

_OCCASIONS: dict[str, tuple[float, str]] = {
    "weekly shop": (0.30, "fruit, vegetables, milk, bread, poultry, pasta and rice, cleaning, paper goods, toiletries"),
    "breakfast": (0.16, "bread, milk, cereals and spreads, coffee and tea, butter and eggs, orange juice, croissants"),
    "pasta night": (
        0.12,
        "spaghetti, penne, pasta sauce, chopped tomatoes, parmesan, basil, garlic, red wine, beef mince",
    ),
    "lunch box": (0.10, "fruit, cooked ham, cheese, yoghurt, bagels, tortilla wraps, salted crisps, apple juice"),
    "barbecue": (
        0.08,
        "charcoal, pork sausages, burger buns, steak, ketchup, barbecue sauce, lager, salad, paper plates",
    ),
    "baby": (0.07, "baby, bananas, whole milk, tissues, paracetamol, toilet roll"),
    "baking day": (0.06, "baking, butter and eggs, semi-skimmed milk, lemons, strawberry jam"),
    "pets": (0.06, "pets, bin bags, kitchen roll, tuna"),
    "party": (
        0.05,
        "party and barbecue, crisps and nuts, chocolate and sweets, beer and cider, wine and spirits, ice cream",
    ),
}
"""Occasion, its share of all baskets, and the categories and products that it makes likely."""

_LIKELY = 10.0
"""How many times likelier an occasion makes its products."""

_LONGEST = 25
_BLOCK = 1 << 14


def grocery(transactions: int = 10_000, seed: int = 7) -> tuple[Baskets, list[tuple[str, ...]]]:
    """Baskets of about 6 products (1 to 25), and the path of every product on sale: product, category, department, store."""
    whole_number("transactions", transactions, 1)
    whole_number("seed", seed, 0)
    paths = _paths()
    share, chance = _chances(paths)
    sizes: list[Ints] = []
    codes: list[Ints] = []
    for number, first in enumerate(range(0, transactions, _BLOCK)):
        rng = np.random.default_rng((seed, number))
        occasion = rng.choice(len(share), size=_BLOCK, p=share)
        size = np.minimum(1 + rng.poisson(rng.gamma(2.5, 2.0, size=_BLOCK)), _LONGEST)
        noisy = np.log(chance)[occasion] + rng.gumbel(size=(_BLOCK, len(paths)))
        best = np.argsort(-noisy, axis=1)[:, :_LONGEST]
        here = min(_BLOCK, transactions - first)
        sizes.append(size[:here])
        codes.append(best[:here][np.arange(_LONGEST) < size[:here, None]])
    return Baskets.from_codes(np.concatenate(sizes), np.concatenate(codes), [path[0] for path in paths]), paths


def _paths() -> list[tuple[str, ...]]:
    return [
        (product, category, department, "store")
        for department, categories in _STORE.items()
        for category, (_, products) in categories.items()
        for product in products.split(", ")
    ]


def _chances(paths: list[tuple[str, ...]]) -> tuple[Floats, Floats]:
    """Shares of the occasions, and for each of them the chance of every product."""
    popularity: list[float] = []
    for categories in _STORE.values():
        for sales, products in categories.values():
            names = products.split(", ")
            zipf = 1 / np.arange(1, len(names) + 1)
            zipf *= sales / zipf.sum()
            popularity.extend(_RARE_SALES if name in _RARE else z for name, z in zip(names, zipf.tolist(), strict=True))
    chance = np.tile(popularity, (len(_OCCASIONS), 1))
    for row, (_, wanted) in zip(chance, _OCCASIONS.values(), strict=True):
        row[[not {product, category}.isdisjoint(wanted.split(", ")) for product, category, *_ in paths]] *= _LIKELY
    share = np.array([share for share, _ in _OCCASIONS.values()])
    return share / share.sum(), chance / chance.sum(axis=1, keepdims=True)
