-- One row per person with a condition: the set of its standard concepts. Concept 0 is what could not be mapped.
CREATE VIEW shoal_conditions AS
SELECT person_id, array_agg(DISTINCT condition_concept_id) AS codes
FROM cdm.condition_occurrence
WHERE condition_concept_id <> 0
GROUP BY person_id;
