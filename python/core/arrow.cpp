// SPDX-License-Identifier: GPL-2.0-or-later
// See arrow.h.
#include "python/core/arrow.h"

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace fencepost::python::arrow {

namespace py = pybind11;

Buffer bits_of(std::size_t count, const std::function<bool(std::size_t)> &is_set)
{
    std::vector<std::uint8_t> bits((count + 7) / 8);
    for (std::size_t i = 0; i < count; ++i)
        if (is_set(i))
            bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | 1u << i % 8);
    return buffer_of(std::move(bits));
}

Column texts(const std::vector<std::string> &texts)
{
    std::string bytes;
    std::vector<std::int32_t> ends = {0};
    for (const std::string &text : texts) {
        bytes += text;
        if (bytes.size() > INT32_MAX)
            fail(ErrorKind::usage, "the texts of a column are more than 2 GiB");
        ends.push_back(static_cast<std::int32_t>(bytes.size()));
    }
    return {{.format = "u"},
            {.length = static_cast<std::int64_t>(texts.size()),
             .buffers = {nullptr, buffer_of(std::move(ends)),
                         buffer_of(std::vector<char>(bytes.begin(), bytes.end()))}}};
}

Column by_number(std::string name, std::string format, Buffer numbers, std::int64_t count,
                 Column texts)
{
    return {{.name = std::move(name),
             .format = std::move(format),
             .dictionary = std::make_shared<const Field>(std::move(texts.field))},
            {.length = count,
             .buffers = {nullptr, std::move(numbers)},
             .dictionary = std::make_shared<const Values>(std::move(texts.values))}};
}

Column table(std::vector<Column> columns, std::int64_t rows)
{
    Column all = {{.format = "+s"}, {.length = rows, .buffers = {nullptr}}};
    for (Column &column : columns) {
        all.field.children.push_back(std::move(column.field));
        all.values.children.push_back(std::move(column.values));
    }
    return all;
}

namespace {

// What a structure of the interface points to. Children may have been moved out: those that were
// have no `release`.
template <typename Exported, typename Described> struct Held {
    Described described;
    std::vector<Exported> children;
    std::vector<Exported *> pointers;
    Exported dictionary = {};
    std::vector<const void *> buffers = {};

    static void release(Exported *exported)
    {
        const std::unique_ptr<Held> held(static_cast<Held *>(exported->private_data));
        for (Exported &child : held->children)
            if (child.release)
                child.release(&child);
        if (held->dictionary.release)
            held->dictionary.release(&held->dictionary);
        exported->release = nullptr;
    }
};

// Children and dictionary, which look the same in both structures.
template <typename Exported, typename Described>
Held<Exported, Described> *fill(Exported &out, const Described &described,
                                void (*fill_child)(Exported &, const Described &))
{
    using Its = Held<Exported, Described>;
    auto owner = std::make_unique<Its>();
    Its *held = owner.get();
    held->described = described;
    held->children.resize(described.children.size());
    out = {};
    out.release = Its::release;
    out.private_data = owner.release();
    for (std::size_t i = 0; i < held->children.size(); ++i) {
        fill_child(held->children[i], described.children[i]);
        held->pointers.push_back(&held->children[i]);
    }
    out.n_children = static_cast<std::int64_t>(held->children.size());
    out.children = held->pointers.data();
    if (described.dictionary) {
        fill_child(held->dictionary, *described.dictionary);
        out.dictionary = &held->dictionary;
    }
    return held;
}

void fill_schema(ArrowSchema &out, const Field &field)
{
    const auto *held = fill(out, field, fill_schema);
    out.format = held->described.format.c_str();
    out.name = held->described.name.c_str();
    out.flags = ARROW_FLAG_NULLABLE;
}

void fill_array(ArrowArray &out, const Values &values)
{
    auto *held = fill(out, values, fill_array);
    for (const Buffer &buffer : held->described.buffers)
        held->buffers.push_back(buffer.get());
    out.length = values.length;
    out.null_count = values.null_count;
    out.n_buffers = static_cast<std::int64_t>(held->buffers.size());
    out.buffers = held->buffers.data();
}

template <typename Exported> constexpr const char *kCapsuleName = nullptr;
template <> constexpr const char *kCapsuleName<ArrowSchema> = "arrow_schema";
template <> constexpr const char *kCapsuleName<ArrowArray> = "arrow_array";
template <> constexpr const char *kCapsuleName<ArrowArrayStream> = "arrow_array_stream";

// A consumer that takes what is in the capsule leaves no `release` behind.
template <typename Exported> py::capsule capsule_of(std::unique_ptr<Exported> exported)
{
    const py::capsule capsule(exported.get(), kCapsuleName<Exported>, [](PyObject *object) {
        auto *held = static_cast<Exported *>(PyCapsule_GetPointer(object, kCapsuleName<Exported>));
        if (held->release)
            held->release(held);
        delete held;
    });
    exported.release();
    return capsule;
}

class Stream {
public:
    Stream(Field field, NextValues next) : field_(std::move(field)), next_(std::move(next)) {}

    static int get_schema(ArrowArrayStream *stream, ArrowSchema *out)
    {
        return of(stream).guarded([&](Stream &its) { fill_schema(*out, its.field_); });
    }
    static int get_next(ArrowArrayStream *stream, ArrowArray *out)
    {
        return of(stream).guarded([&](Stream &its) {
            *out = {};
            if (const std::optional<Values> values = its.next_())
                fill_array(*out, *values);
        });
    }
    static const char *get_last_error(ArrowArrayStream *stream)
    {
        return of(stream).error_.empty() ? nullptr : of(stream).error_.c_str();
    }
    static void release(ArrowArrayStream *stream)
    {
        delete &of(stream);
        stream->release = nullptr;
    }

private:
    static Stream &of(ArrowArrayStream *stream)
    {
        return *static_cast<Stream *>(stream->private_data);
    }

    template <typename Work> int guarded(Work &&work) noexcept
    {
        try {
            error_.clear();
            work(*this);
            return 0;
        } catch (const Error &error) {
            error_ = error.what();
            return error.kind() == ErrorKind::interrupted ? EINTR
                   : error.kind() == ErrorKind::usage     ? EINVAL
                                                          : EIO;
        } catch (const std::bad_alloc &) {
            return ENOMEM;
        } catch (const std::exception &error) {
            error_ = error.what();
            return EIO;
        }
    }

    Field field_;
    NextValues next_;
    std::string error_;
};

} // namespace

py::capsule schema_capsule(const Field &field)
{
    auto schema = std::make_unique<ArrowSchema>();
    fill_schema(*schema, field);
    return capsule_of(std::move(schema));
}

py::tuple array_capsules(const Field &field, Values values)
{
    auto array = std::make_unique<ArrowArray>();
    fill_array(*array, values);
    return py::make_tuple(schema_capsule(field), capsule_of(std::move(array)));
}

py::capsule stream_capsule(Field field, NextValues next)
{
    auto stream = std::make_unique<ArrowArrayStream>();
    *stream = {.get_schema = Stream::get_schema,
               .get_next = Stream::get_next,
               .get_last_error = Stream::get_last_error,
               .release = Stream::release,
               .private_data = new Stream(std::move(field), std::move(next))};
    return capsule_of(std::move(stream));
}

} // namespace fencepost::python::arrow
