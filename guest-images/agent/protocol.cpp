// SPDX-License-Identifier: GPL-2.0-or-later
// The fields of each message, listed once for both directions.
#include "guest-images/agent/protocol.h"

#include "guest-images/agent/payload.h"

namespace fencepost::agent {

namespace {

template <typename V> void fields(V &v, typename V::template Ref<PmDevice> m)
{
    v.text(m.name);
    v.number(m.size_bytes);
    v.flag(m.dax);
    v.number(m.physical_start);
    v.text(m.mode);
}

template <typename V> void fields(V &v, typename V::template Ref<ModuleFailure> m)
{
    v.text(m.module);
    v.number(m.error_number);
}

template <typename V> void fields(V &v, typename V::template Ref<TreeAttribute> m)
{
    v.bytes(m.name);
    v.bytes(m.value);
}

template <typename V> void fields(V &v, typename V::template Ref<TreeRange> m)
{
    v.number(m.offset);
    v.number(m.length);
}

template <typename V> void fields(V &v, typename V::template Ref<TreeBlock> m)
{
    v.number(m.hash);
    v.bytes(m.bytes);
}

template <typename V> void fields(V &v, typename V::template Ref<StepResult> m)
{
    v.choice(m.step, JudgeStep::remove);
    v.number(m.error_number);
    v.text(m.message);
    v.number(m.elapsed_usec);
}

template <typename V> void fields(V &v, typename V::template Ref<SpaceUse> m)
{
    v.number(m.blocks);
    v.number(m.inodes);
}

template <typename V> void fields(V &v, typename V::template Ref<SpaceRange> m)
{
    v.flag(m.known);
    fields(v, m.least);
    fields(v, m.most);
}

template <typename V> void fields(V &v, typename V::template Ref<UsableProblem> m)
{
    v.text(m.path);
    v.text(m.operation);
    v.number(m.error_number);
}

template <typename V>
void fields(V &v, typename V::template Ref<TreeEntry> m); // has lists of its own

template <typename V, typename Elements> void structures(V &v, Elements &elements)
{
    v.list(elements, [&v](auto &element) { fields(v, element); });
}

template <typename V, typename Elements> void texts(V &v, Elements &elements)
{
    v.list(elements, [&v](auto &element) { v.text(element); });
}

template <typename V> void fields(V &v, typename V::template Ref<Hello> m)
{
    v.number(m.protocol_version);
    v.text(m.kernel_release);
    v.choice(m.channel, ChannelKind::serial);
    v.number(m.cpus_online);
    structures(v, m.module_failures);
    structures(v, m.pm_devices);
}

template <typename V> void fields(V &v, typename V::template Ref<ServerLost> m)
{
    v.flag(m.by_signal);
    v.number(m.code);
}

template <typename V> void fields(V &v, typename V::template Ref<ProtocolError> m)
{
    v.text(m.message);
}

template <typename V> void fields(V &v, typename V::template Ref<Failure> m)
{
    v.number(m.error_number);
    v.text(m.message);
}

template <typename V> void fields(V &v, typename V::template Ref<PingRequest> m)
{
    v.bytes(m.data);
}

template <typename V> void fields(V &v, typename V::template Ref<PingReply> m)
{
    v.bytes(m.data);
}

template <typename V> void fields(V &v, typename V::template Ref<RunRequest> m)
{
    texts(v, m.argv);
    texts(v, m.environment);
    v.text(m.directory);
    v.bytes(m.input);
    v.number(m.time_limit_ms);
}

template <typename V> void fields(V &v, typename V::template Ref<RunReply> m)
{
    v.choice(m.end, RunEnd::timed_out);
    v.number(m.code);
    v.number(m.survivors);
    v.bytes(m.output);
    v.flag(m.output_truncated);
    v.bytes(m.errors);
    v.flag(m.errors_truncated);
    v.number(m.elapsed_usec);
}

template <typename V> void fields(V &v, typename V::template Ref<MountRequest> m)
{
    v.text(m.source);
    v.text(m.target);
    v.text(m.fstype);
    v.text(m.options);
}

template <typename V> void fields(V &v, typename V::template Ref<MountReply> m)
{
    v.number(m.elapsed_usec);
}

template <typename V> void fields(V &v, typename V::template Ref<UnmountRequest> m)
{
    v.text(m.target);
    v.number(m.flags);
}

template <typename V> void fields(V &v, typename V::template Ref<UnmountReply> m)
{
    v.number(m.elapsed_usec);
}

template <typename V> void fields(V &v, typename V::template Ref<ReadFileRequest> m)
{
    v.text(m.path);
    v.number(m.offset);
    v.number(m.max_length);
}

template <typename V> void fields(V &v, typename V::template Ref<ReadFileReply> m)
{
    v.bytes(m.data);
    v.flag(m.at_end);
}

template <typename V> void fields(V &v, typename V::template Ref<WriteFileRequest> m)
{
    v.text(m.path);
    v.number(m.mode);
    v.number(m.offset);
    v.flag(m.truncate);
    v.bytes(m.data);
}

template <typename V> void fields(V &v, typename V::template Ref<ListPmReply> m)
{
    structures(v, m.devices);
}

template <typename V> void fields(V &v, typename V::template Ref<TreeEntry> m)
{
    v.text(m.path);
    v.choice(m.type, FileType::unknown);
    v.text(m.failed_step);
    v.number(m.error_number);
    v.number(m.inode);
    v.number(m.mode);
    v.number(m.user);
    v.number(m.group);
    v.number(m.link_count);
    v.number(m.size);
    v.number(m.device);
    v.text(m.target);
    structures(v, m.attributes);
    structures(v, m.holes);
    v.bytes(m.block_hashes);
    v.flag(m.contents_left_out);
}

template <typename V> void fields(V &v, typename V::template Ref<TreeDump> m)
{
    structures(v, m.entries);
    structures(v, m.blocks);
    v.flag(m.truncated);
    v.number(m.elapsed_usec);
}

template <typename V> void fields(V &v, typename V::template Ref<JudgeRequest> m)
{
    fields(v, m.mount);
    v.flag(m.dump);
    v.number(m.limits.entries);
    v.number(m.limits.blocks);
    v.number(m.limits.content_bytes);
    v.bytes(m.known_blocks);
    v.flag(m.usable);
    v.flag(m.remove);
    fields(v, m.expected);
    fields(v, m.command);
    v.flag(m.whole_log);
}

template <typename V> void fields(V &v, typename V::template Ref<StepBegun> m)
{
    v.choice(m.step, JudgeStep::remove);
}

template <typename V> void fields(V &v, typename V::template Ref<JudgeReply> m)
{
    structures(v, m.steps);
    fields(v, m.tree);
    fields(v, m.command);
    structures(v, m.problems);
    v.list(m.not_tried, [&v](auto &element) { v.text(element); });
    v.flag(m.removed);
    fields(v, m.used_before);
    fields(v, m.used_after);
    v.bytes(m.kernel_log);
    v.text(m.log_failure);
    v.flag(m.still_mounted);
}

// Messages that are all in their type.
template <typename V> void fields(V &, typename V::template Ref<WriteFileReply>) {}
template <typename V> void fields(V &, typename V::template Ref<ListPmRequest>) {}
template <typename V> void fields(V &, typename V::template Ref<PowerOffRequest>) {}
template <typename V> void fields(V &, typename V::template Ref<PowerOffReply>) {}

} // namespace

template <typename Message> std::string encode_payload(const Message &message)
{
    PayloadWriter writer;
    fields(writer, message);
    return writer.take();
}

template <typename Message> bool decode_payload(std::string_view payload, Message &message)
{
    PayloadReader reader(payload, kListLimit);
    fields(reader, message);
    return reader.finished();
}

#define FENCEPOST_MESSAGE(Message)                                                                 \
    template std::string encode_payload(const Message &);                                          \
    template bool decode_payload(std::string_view, Message &)

FENCEPOST_MESSAGE(Hello);
FENCEPOST_MESSAGE(ServerLost);
FENCEPOST_MESSAGE(ProtocolError);
FENCEPOST_MESSAGE(Failure);
FENCEPOST_MESSAGE(PingRequest);
FENCEPOST_MESSAGE(PingReply);
FENCEPOST_MESSAGE(RunRequest);
FENCEPOST_MESSAGE(RunReply);
FENCEPOST_MESSAGE(MountRequest);
FENCEPOST_MESSAGE(MountReply);
FENCEPOST_MESSAGE(UnmountRequest);
FENCEPOST_MESSAGE(UnmountReply);
FENCEPOST_MESSAGE(ReadFileRequest);
FENCEPOST_MESSAGE(ReadFileReply);
FENCEPOST_MESSAGE(WriteFileRequest);
FENCEPOST_MESSAGE(WriteFileReply);
FENCEPOST_MESSAGE(ListPmRequest);
FENCEPOST_MESSAGE(ListPmReply);
FENCEPOST_MESSAGE(PowerOffRequest);
FENCEPOST_MESSAGE(PowerOffReply);
FENCEPOST_MESSAGE(JudgeRequest);
FENCEPOST_MESSAGE(JudgeReply);
FENCEPOST_MESSAGE(StepBegun);
FENCEPOST_MESSAGE(TreeDump);

#undef FENCEPOST_MESSAGE

} // namespace fencepost::agent
