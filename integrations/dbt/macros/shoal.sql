{#
    Tests of dbt for what a table promises, counted in the warehouse itself. A failing row holds a size and a count, never a value,
    so that `store_failures` stores none either.

    shoal_k_anonymous: every row is equal to k - 1 others in the quasi-identifier columns. A missing value is a value like others.
    shoal_km_anonymous: every set of up to m items that occurs, occurs in at least k groups of rows with one `row_id`. A row without an
    item says nothing; an item without a row_id fails the test, for nobody knows what it occurs with.
#}

{% test shoal_k_anonymous(model, quasi, k=5) %}
select count(*) as crowd
from {{ model }}
group by {{ quasi | join(', ') }}
having count(*) < {{ k }}
{% endtest %}

{% test shoal_km_anonymous(model, row_id, item, k=5, m=2) %}
with known as (
    select distinct {{ row_id }} as record_key, {{ item }} as record_item
    from {{ model }}
    where {{ item }} is not null
)
select 0 as items, count(*) as crowd
from known
where record_key is null
having count(*) > 0
{% for size in range(1, m + 1) %}
union all
select {{ size }} as items, count(*) as crowd
from known as known_1
{%- for n in range(2, size + 1) %}
join known as known_{{ n }}
    on known_{{ n }}.record_key = known_1.record_key and known_{{ n }}.record_item > known_{{ n - 1 }}.record_item
{%- endfor %}
group by {% for n in range(1, size + 1) %}known_{{ n }}.record_item{{ ', ' if not loop.last }}{% endfor %}
having count(*) < {{ k }}
{% endfor %}
{% endtest %}
