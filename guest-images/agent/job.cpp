// SPDX-License-Identifier: GPL-2.0-or-later
// The fields of the mailbox's messages, listed once for both directions.
#include "guest-images/agent/job.h"

#include "guest-images/agent/payload.h"

namespace fencepost::agent {

namespace {

// Parts that are messages of the protocol already.
void nested(PayloadWriter &writer, const auto &message)
{
    writer.bytes(encode_payload(message));
}

void nested(PayloadReader &reader, auto &message)
{
    std::string payload;
    reader.bytes(payload);
    if (!decode_payload(payload, message))
        reader.refuse();
}

template <typename V> void fields(V &v, typename V::template Ref<JobFile> m)
{
    v.text(m.path);
    v.number(m.mode);
    v.bytes(m.contents);
}

template <typename V> void fields(V &v, typename V::template Ref<Op> m)
{
    v.choice(m.kind, OpKind::last);
    v.choice(m.failure, OpFailure::last);
    v.flag(m.marked);
    v.number(m.line);
    v.number(m.number);
    v.number(m.slot);
    v.number(m.slot2);
    v.text(m.path);
    v.text(m.path2);
    for (auto &number : m.numbers)
        v.number(number);
    v.flag(m.data.literal);
    v.bytes(m.data.text);
    v.number(m.data.length);
    v.number(m.data.seed);
    v.text(m.text);
}

template <typename V> void fields(V &v, typename V::template Ref<OpsThread> m)
{
    v.list(m.ops, [&v](auto &element) { fields(v, element); });
}

template <typename V> void fields(V &v, typename V::template Ref<OpsPhase> m)
{
    v.list(m.threads, [&v](auto &element) { fields(v, element); });
}

template <typename V> void fields(V &v, typename V::template Ref<JobStep> m)
{
    v.choice(m.kind, StepKind::unmount);
    v.flag(m.system_calls);
    nested(v, m.command);
    v.list(m.operations, [&v](auto &element) { v.text(element); });
    nested(v, m.mount);
    v.number(m.ops.file_slots);
    v.number(m.ops.map_slots);
    v.list(m.ops.phases, [&v](auto &element) { fields(v, element); });
}

template <typename V> void fields(V &v, typename V::template Ref<Job> m)
{
    v.flag(m.recorded);
    v.list(m.files, [&v](auto &element) { fields(v, element); });
    v.list(m.steps, [&v](auto &element) { fields(v, element); });
    v.text(m.observe.root);
    v.number(m.observe.limits.entries);
    v.number(m.observe.limits.blocks);
    v.number(m.observe.limits.content_bytes);
    v.number(m.observe.variation);
}

template <typename V> void fields(V &v, typename V::template Ref<Observation> m)
{
    v.choice(m.moment, Moment::overflow);
    v.number(m.operation);
    v.number(m.call);
    v.number(m.call_ordinal);
    v.number(m.calls_meanwhile);
    v.number(m.signature.process);
    v.number(m.signature.thread);
    v.list(m.signature.numbers, [&v](auto &element) { v.number(element); });
    v.text(m.signature.paths);
    v.number(m.result);
    v.choice(m.durable, Durable::all);
    v.number(m.inode);
    v.number(m.range.offset);
    v.number(m.range.length);
    v.flag(m.mapped);
    v.flag(m.exchanged);
    v.flag(m.same_tree);
    nested(v, m.tree);
}

template <typename V> void fields(V &v, typename V::template Ref<StepReport> m)
{
    v.text(m.failure);
    nested(v, m.run);
}

template <typename V> void fields(V &v, typename V::template Ref<JobReport> m)
{
    v.list(m.steps, [&v](auto &element) { fields(v, element); });
    v.bytes(m.kernel_log);
    v.bytes(m.modules);
    v.bytes(m.kallsyms);
    v.number(m.elapsed_usec);
    v.list(m.observations, [&v](auto &element) { fields(v, element); });
}

template <typename V> void fields(V &v, typename V::template Ref<BootReport> m)
{
    nested(v, m.hello);
    v.bytes(m.modules);
    v.bytes(m.kallsyms);
}

} // namespace

template <typename Message> std::string encode_job(const Message &message)
{
    PayloadWriter writer;
    fields(writer, message);
    return writer.take();
}

template <typename Message> bool decode_job(std::string_view payload, Message &message)
{
    PayloadReader reader(payload, kListLimit);
    fields(reader, message);
    return reader.finished();
}

#define FENCEPOST_MESSAGE(Message)                                                                 \
    template std::string encode_job(const Message &);                                              \
    template bool decode_job(std::string_view, Message &)

FENCEPOST_MESSAGE(Job);
FENCEPOST_MESSAGE(JobReport);
FENCEPOST_MESSAGE(BootReport);
FENCEPOST_MESSAGE(Observation);

#undef FENCEPOST_MESSAGE

bool is_sound(const OpsProgram &program)
{
    if (program.file_slots > kOpsSlotLimit || program.map_slots > kOpsSlotLimit)
        return false;
    for (const OpsPhase &phase : program.phases) {
        if (phase.threads.size() > kOpsThreadLimit)
            return false;
        for (const OpsThread &thread : phase.threads) {
            for (const Op &op : thread.ops) {
                const bool on_map = op.kind >= OpKind::map && op.kind <= OpKind::unmap;
                const std::uint16_t slots = on_map ? program.map_slots : program.file_slots;
                if ((op.slot != 0 && op.slot >= slots) ||
                    (op.slot2 != 0 && op.slot2 >= program.file_slots) ||
                    op.data.length > kOpsDataLimit || op.data.text.size() > kOpsDataLimit)
                    return false;
            }
        }
    }
    return true;
}

} // namespace fencepost::agent
