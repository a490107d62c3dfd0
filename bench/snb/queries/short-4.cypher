// The content of a message.
MATCH (m:Message {id: $messageId})
RETURN m.creationDate AS creationDate, coalesce(m.content, m.imageFile) AS content
