-- One row per person, as it is released: a band of ages at the end of 2025, the gender, the race, and the set of conditions and drugs.
-- Concept ids are unique over all vocabularies, so that one set can hold both. The key that joins does not leave the view.
CREATE VIEW shoal_persons AS
SELECT
    CASE
        WHEN 2025 - p.year_of_birth >= 90 THEN '90+'
        ELSE '[' || (2025 - p.year_of_birth) / 10 * 10 || '-' || (2025 - p.year_of_birth) / 10 * 10 + 10 || ')'
    END AS age_band,
    gender.concept_name AS gender,
    race.concept_name AS race,
    coalesce(c.codes, '{}') || coalesce(d.codes, '{}') AS codes
FROM cdm.person AS p
LEFT JOIN cdm.concept AS gender ON gender.concept_id = p.gender_concept_id AND gender.concept_id <> 0
LEFT JOIN cdm.concept AS race ON race.concept_id = p.race_concept_id AND race.concept_id <> 0
LEFT JOIN shoal_conditions AS c USING (person_id)
LEFT JOIN shoal_drugs AS d USING (person_id);
