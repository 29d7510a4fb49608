//! The list of all cases, by chapter. This is the one place to add a case to; it then reaches every store.

/// Makes one `#[test]` of every case, each on a fresh store of the factory: `conformance!(MyFactory)`.
///
/// The tests are named by chapter and case, `fence::a_replaced_holder_writes_nothing_more`. The expression is evaluated
/// once for each case and must be a [`StoreFactory`](crate::StoreFactory).
#[macro_export]
macro_rules! conformance {
    ($factory:expr) => {
        $crate::__cases!(__tests, $factory);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __tests {
    ([$factory:expr] $($chapter:ident { $($case:ident)* })*) => {
        $(mod $chapter {
            #[allow(unused_imports)]
            use super::*;
            $(#[test]
            fn $case() {
                $crate::run($factory, $crate::spec::$chapter::$case);
            })*
        })*
    };
}

/// Calls another macro of this crate with the list.
#[doc(hidden)]
#[macro_export]
macro_rules! __cases {
    ($then:ident $(, $arg:expr)?) => {
        $crate::$then! {
            [$($arg)?]
            commit {
                a_first_commit_makes_the_thread_and_its_head
                a_commit_moves_the_head
                a_checkpoint_comes_back_as_it_was_given
                every_source_comes_back
                several_checkpoints_in_one_commit_leave_the_last_as_head
                the_last_status_of_a_commit_counts
                the_next_nodes_keep_their_order
                every_status_comes_back
                a_commit_without_a_status_keeps_it
                a_status_alone_can_make_a_thread
                a_status_alone_keeps_the_head_and_its_values
                the_graph_of_a_thread_is_that_of_its_root
                the_row_is_the_same_from_every_namespace
                the_times_of_a_row_are_those_of_its_first_and_last_commit
                a_branch_comes_back
            }
            whole {
                an_invalid_commit_changes_nothing
                a_stale_commit_changes_nothing
                a_commit_under_a_stale_root_changes_nothing
                a_fenced_commit_changes_nothing
                a_commit_with_a_second_answer_changes_nothing
                a_refused_first_commit_makes_no_thread
            }
            validity {
                a_position_in_use_is_invalid
                a_position_before_the_last_is_invalid
                position_zero_is_invalid
                positions_may_have_gaps
                a_checkpoint_id_in_use_is_invalid
                a_checkpoint_put_twice_in_one_commit_is_invalid
                a_channel_given_twice_is_invalid
                a_cleared_channel_with_bytes_is_invalid
                records_on_an_older_checkpoint_are_invalid
                records_on_an_unknown_checkpoint_are_invalid
                records_without_any_checkpoint_are_invalid
                records_before_their_checkpoint_are_invalid
                records_may_go_to_any_checkpoint_of_the_same_commit
                records_may_go_to_the_former_head_beside_its_successor
                an_answer_among_the_records_is_invalid
                a_commit_wrong_in_itself_is_invalid_before_it_is_stale_or_fenced
                a_stale_commit_is_stale_before_its_position_is_wrong
                a_thread_goes_on_after_an_invalid_commit
            }
            guard {
                a_stale_head_is_refused_and_the_present_one_named
                an_empty_namespace_expected_where_there_is_a_head_is_refused
                a_head_expected_where_there_is_nothing_is_refused
                a_commit_repeated_is_refused_and_finds_itself_as_head
                the_first_commit_of_a_thread_names_epoch_zero
                the_first_commit_of_a_headless_thread_names_its_epoch
                a_second_namespace_begins_empty_in_a_live_thread
                a_new_namespace_names_the_epoch_of_its_thread
                a_stale_root_refuses_a_subgraph
                a_subgraph_may_write_before_its_root
                the_namespace_is_checked_before_the_root
                the_head_is_the_last_one_put_whatever_the_clocks_say
                a_fork_becomes_the_head
                a_commit_without_a_checkpoint_leaves_the_guard_good
            }
            writes {
                records_of_all_kinds_come_back
                records_are_ordered_by_task_kind_and_path
                a_record_put_again_replaces_the_former
                of_two_records_at_one_place_in_one_commit_the_later_counts
                b105_special_records_do_not_share_a_place
                b106_a_new_error_replaces_the_old_one_beside_results
                b107_records_put_three_times_leave_one_copy
                records_stay_on_their_checkpoint
                a_task_may_have_records_on_two_checkpoints
                records_of_siblings_add_up
                five_thousand_records_fit_in_one_commit
                paths_are_told_apart_to_the_last_character
                an_empty_list_of_records_is_applied
            }
            get {
                an_unknown_thread_gives_nothing
                an_unknown_namespace_gives_the_row_alone
                an_unknown_checkpoint_gives_row_and_head
                a_checkpoint_is_found_by_its_id
                an_old_checkpoint_comes_with_the_present_row_and_head
                a_question_leads_to_its_checkpoint
                a_question_on_several_checkpoints_leads_to_the_newest
                another_record_at_the_same_path_is_no_question
                an_answered_question_is_still_found
                checkpoints_and_questions_of_another_namespace_are_not_found
                reading_changes_nothing
                what_was_read_stays_as_it_was
            }
            list {
                b122_history_is_newest_first
                an_unknown_thread_lists_nothing
                a_limit_beyond_the_end_gives_what_there_is
                pages_leave_nothing_out_and_repeat_nothing
                before_an_unknown_checkpoint_there_is_nothing
                before_the_first_checkpoint_there_is_nothing
                limit_before_and_metadata_work_together
                every_entry_of_the_filter_must_match
                metadata_is_compared_by_value_and_type
                null_in_metadata_is_not_absence
                nested_metadata_is_compared_whole
                history_lists_every_branch
                a_listed_checkpoint_is_the_same_as_one_read_by_id
                b149_filter_keys_are_plain_keys
                b149_odd_keys_match_themselves_only
                b149_filter_values_are_plain_values
            }
            values {
                an_unchanged_value_is_read_from_before
                segments_follow_their_base
                an_old_checkpoint_reads_nothing_newer_than_itself
                a_new_base_hides_the_parts_before_it
                a_cleared_channel_is_absent_from_then_on
                a_base_after_a_clear_is_a_value_again
                segments_after_a_clear_stand_alone
                segments_without_a_base_stand_alone
                a_part_names_its_kind_and_its_checkpoint
                values_are_ordered_by_the_bytes_of_the_channel
                a_branch_reads_its_own_values_only
                branches_may_take_turns
                a_clear_counts_on_its_branch_only
                channels_do_not_disturb_each_other
                a_state_without_values_is_empty
                three_thousand_channels_fit_in_one_checkpoint
                three_hundred_segments_come_in_order
            }
            answers {
                an_answer_is_recorded_on_the_checkpoint_of_its_question
                an_answer_carries_the_mark_of_its_attempt
                a_second_answer_is_refused_and_the_first_stays
                a_second_answer_is_told_so_although_the_head_has_moved
                a_second_answer_is_told_so_although_the_thread_is_held
                a_first_answer_under_a_stale_head_is_stale
                an_answer_to_no_question_is_invalid
                an_answer_to_a_question_of_another_task_is_invalid
                an_answer_that_names_another_checkpoint_is_invalid
                an_answer_to_a_record_that_is_no_question_is_invalid
                two_questions_are_answered_one_by_one
                two_questions_are_answered_together
                one_answered_question_refuses_the_answer_to_another
                two_answers_to_one_question_in_one_commit_are_invalid
                a_question_may_be_put_and_answered_in_one_commit
                an_answer_before_its_question_in_one_commit_is_invalid
                an_answer_rides_with_other_ops
                a_question_put_again_keeps_its_answer
                a_question_carried_on_is_open_on_its_new_checkpoint
                an_answer_in_one_namespace_is_none_in_another
            }
            fence {
                a_claim_sets_the_holder_and_raises_the_epoch
                a_claim_makes_a_thread_that_never_was
                a_commit_without_a_fence_to_a_held_thread_is_fenced
                the_holder_commits_with_its_fence
                the_right_epoch_with_another_owner_is_fenced
                the_right_owner_with_another_epoch_is_fenced
                a_fence_on_a_thread_that_nobody_holds_is_fenced
                a_claim_over_a_holder_needs_its_fence
                a_replaced_holder_writes_nothing_more
                a_release_clears_the_holder_and_raises_the_epoch
                a_release_without_a_fence_is_fenced
                epochs_rise_with_every_change_of_hands
                a_claim_and_a_checkpoint_fit_in_one_commit
                a_thread_is_handed_over_in_one_commit
                the_fence_is_checked_before_the_head
                a_fence_holds_in_every_namespace
                a_fence_holds_for_its_thread_only
                a_held_thread_is_read_without_a_fence
                a_claim_under_a_stale_head_is_stale
                a_holder_may_claim_again
            }
            delete {
                b155_deleting_leaves_nothing_in_any_namespace
                b155_a_new_thread_of_the_same_name_finds_nothing_of_the_old_one
                b155_deleting_twice_and_deleting_the_unknown_is_fine
                a_deleted_thread_leaves_a_tombstone
                a_late_writer_finds_the_thread_deleted
                a_late_first_writer_finds_the_thread_deleted
                a_late_answer_finds_the_thread_deleted
                a_late_holder_is_fenced
                deleting_an_unknown_thread_stops_a_call_on_its_way
                deleting_again_stops_a_call_that_began_after_the_first_deletion
                a_new_call_on_a_tombstone_makes_a_new_thread
                an_old_subgraph_cannot_write_into_the_new_thread
                a_subgraph_may_open_the_new_thread
                a_tombstone_can_be_claimed
                epochs_rise_with_every_life_of_a_thread
                a_headless_thread_can_be_deleted
                deleting_one_thread_leaves_the_others
                deleting_goes_by_thread
            }
            isolation {
                threads_share_nothing
                namespaces_share_nothing_but_the_row
                names_joined_differently_stay_apart
                names_that_look_alike_stay_apart
                deleting_a_name_that_looks_like_a_pattern_deletes_one_thread
                a_checkpoint_of_another_thread_is_not_found
            }
            tenants {
                tenants_share_nothing
                deleting_goes_by_tenant
                a_tenants_handle_reaches_its_own_threads
                a_tenants_handle_refuses_keys_of_another
                a_tenants_handle_cannot_be_widened
            }
            odd {
                every_byte_comes_back
                empty_bytes_come_back_and_are_a_value
                a_megabyte_comes_back
                bytes_that_look_like_something_come_back
                names_outside_ascii_work
                names_with_quotes_braces_and_commands_work
                names_of_the_greatest_length_work
                long_names_are_compared_to_their_end
                odd_metadata_comes_back
                great_numbers_come_back
                ids_of_all_zeros_and_ones_work
                a_deep_namespace_works
            }
            concurrency {
                of_two_writers_on_one_head_one_wins
                of_fifty_writers_on_one_head_exactly_one_wins
                of_fifty_first_commits_exactly_one_wins
                of_fifty_first_commits_on_a_tombstone_exactly_one_wins
                of_fifty_answers_exactly_one_counts
                of_fifty_claims_exactly_one_wins
                fifty_records_put_at_once_are_all_there
                many_threads_go_on_side_by_side
                readers_never_see_a_part_of_a_commit
                a_deletion_among_commits_leaves_nothing
                a_dropped_commit_happens_as_a_whole_or_not_at_all
                what_one_handle_wrote_the_other_reads
            }
            reopen {
                everything_outlives_the_handle
                guards_hold_after_reopening
                tombstones_outlive_the_handle
                claims_outlive_the_handle
                answers_outlive_the_handle
                b107_records_put_again_after_reopening_leave_one_copy
            }
            handle {
                guarantees_are_told
                an_instance_names_one_store
                two_fresh_stores_share_nothing
                a_bare_handle_belongs_to_the_default_tenant
                values_are_shown_nowhere
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __names {
    ([] $($chapter:ident { $($case:ident)* })*) => {
        &[$((stringify!($chapter), &[$(stringify!($case)),*]),)*]
    };
}

/// The names of all cases, by chapter.
pub const CASES: &[(&str, &[&str])] = crate::__cases!(__names);

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::CASES;

    #[test]
    fn every_case_that_is_written_is_listed_once() {
        let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/spec");
        let mut written = BTreeSet::new();
        for file in std::fs::read_dir(spec).unwrap() {
            let path = file.unwrap().path();
            let chapter = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let names = text.lines().filter_map(|line| line.strip_prefix("pub async fn ")?.split_once('('));
            written.extend(names.map(|(name, _)| (chapter.clone(), name.to_owned())));
        }
        let listed: Vec<_> = CASES
            .iter()
            .flat_map(|(chapter, names)| names.iter().map(|name| ((*chapter).to_owned(), (*name).to_owned())))
            .collect();
        assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), written);
        assert_eq!(listed.len(), written.len());
    }
}
