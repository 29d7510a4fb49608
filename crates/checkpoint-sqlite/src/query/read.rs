//! The SQL of reading.

/// The values and the records of the checkpoint `c`, each list packed into one blob: a read gives one row for each checkpoint,
/// however many parts it has, since each row is a message between threads. `packed.rs` has the layout.
///
/// The channels of a branch are found one after the other by skipping over the parts of each (a loose index scan), and
/// a channel's parts from its last base on; so the cost grows with what is read and not with the thread.
macro_rules! packed {
    () => {
        "(
            WITH RECURSIVE channel (name) AS (
                SELECT (
                    SELECT v.channel FROM superstep_value AS v
                    WHERE v.tenant = ?1 AND v.thread = ?2 AND v.namespace = ?3 AND v.branch = c.branch
                    ORDER BY v.channel LIMIT 1
                )
                UNION ALL
                SELECT (
                    SELECT v.channel FROM superstep_value AS v
                    WHERE v.tenant = ?1 AND v.thread = ?2 AND v.namespace = ?3 AND v.branch = c.branch
                        AND v.channel > name
                    ORDER BY v.channel LIMIT 1
                ) FROM channel WHERE name IS NOT NULL
            )
            SELECT CAST(group_concat(
                format('%d:%d:%d:', v.kind, octet_length(v.channel), octet_length(v.bytes))
                || v.checkpoint || v.channel || v.bytes, ''
            ) AS BLOB)
            FROM channel CROSS JOIN superstep_value AS v
            WHERE v.tenant = ?1 AND v.thread = ?2 AND v.namespace = ?3 AND v.branch = c.branch AND v.channel = name
                AND v.seq <= c.seq AND v.kind <> 3 AND v.seq >= coalesce((
                    SELECT b.seq FROM superstep_value AS b
                    WHERE b.tenant = ?1 AND b.thread = ?2 AND b.namespace = ?3 AND b.branch = c.branch
                        AND b.channel = name AND b.seq <= c.seq AND b.kind <> 2
                    ORDER BY b.seq DESC LIMIT 1
                ), 0)
        ), (
            SELECT CAST(group_concat(
                format('%d:%d:%d:%d:', w.kind, octet_length(w.path), octet_length(w.node), octet_length(w.bytes))
                || w.task || w.path || w.node || w.bytes, ''
            ) AS BLOB)
            FROM superstep_write AS w
            WHERE w.tenant = ?1 AND w.thread = ?2 AND w.namespace = ?3 AND w.seq = c.seq
        )"
    };
}

/// The thread's row, the head, and the checkpoint that `$which` names: one row, so one state of the file.
macro_rules! get {
    ($which:literal) => {
        concat!(
            "SELECT c.body, c.args, ",
            packed!(),
            ", head.id, head.seq, t.epoch, t.owner, t.status, t.next, t.graph, t.deleted, t.created_at, t.updated_at
            FROM (SELECT 1)
            LEFT JOIN superstep_thread AS t ON t.tenant = ?1 AND t.thread = ?2
            LEFT JOIN superstep_checkpoint AS head
                ON head.tenant = ?1 AND head.thread = ?2 AND head.namespace = ?3
                AND head.seq = (
                    SELECT seq FROM superstep_checkpoint WHERE tenant = ?1 AND thread = ?2 AND namespace = ?3
                    ORDER BY seq DESC LIMIT 1
                )
            LEFT JOIN superstep_checkpoint AS c
                ON c.tenant = ?1 AND c.thread = ?2 AND c.namespace = ?3 AND ",
            $which
        )
    };
}

/// Reads the head.
pub(crate) const GET_HEAD: &str = get!("c.seq = head.seq");

/// Reads the checkpoint of id `?4`.
pub(crate) const GET_ID: &str = get!("c.id = ?4");

/// Reads the newest checkpoint with a question of path `?4`.
pub(crate) const GET_QUESTION: &str = get!(
    "c.seq = (
        SELECT max(w.seq) FROM superstep_write AS w
        WHERE w.tenant = ?1 AND w.thread = ?2 AND w.namespace = ?3 AND w.path = ?4 AND w.kind = 3
    )"
);

/// Lists at most `?4` checkpoints (-1: all), older than the one of id `?5` unless that is null, with all metadata entries
/// of the JSON array `?6` unless that is null.
pub(crate) const LIST: &str = concat!(
    "SELECT c.body, c.args, ",
    packed!(),
    " FROM superstep_checkpoint AS c
    WHERE c.tenant = ?1 AND c.thread = ?2 AND c.namespace = ?3
        AND c.seq < CASE WHEN ?5 IS NULL THEN 9223372036854775807 ELSE (
            SELECT seq FROM superstep_checkpoint WHERE tenant = ?1 AND thread = ?2 AND namespace = ?3 AND id = ?5
        ) END
        AND (?6 IS NULL OR NOT EXISTS (
            SELECT 1 FROM json_each(?6) AS wanted
            WHERE NOT EXISTS (SELECT 1 FROM json_each(c.metadata) AS found WHERE found.value = wanted.value)
        ))
    ORDER BY c.seq DESC LIMIT ?4"
);
