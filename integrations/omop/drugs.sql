-- One row per person with a drug: the set of its ingredients, whatever product, strength and form was given.
CREATE VIEW shoal_drugs AS
SELECT e.person_id, array_agg(DISTINCT i.concept_id) AS codes
FROM cdm.drug_exposure AS e
JOIN cdm.concept_ancestor AS a ON a.descendant_concept_id = e.drug_concept_id
JOIN cdm.concept AS i ON i.concept_id = a.ancestor_concept_id AND i.concept_class_id = 'Ingredient'
GROUP BY e.person_id;
