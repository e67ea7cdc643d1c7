// SPDX-License-Identifier: GPL-2.0-or-later
// Long traces over many lines: the tables behind the models against plain lists of pieces.
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "analyzer/model/line_index.h"
#include "analyzer/model/persistence_model.h"

namespace fencepost::model {
namespace {

using trace::Event;
using trace::EventKind;

TEST(LineIndex, IsAMap)
{
    std::mt19937_64 random(1);
    LineIndex index;
    std::map<std::uint64_t, std::uint32_t> map;
    for (unsigned step = 0; step < 400000; ++step) {
        const std::uint64_t line = random() % (step % 50000 < 25000 ? 3000 : 300) * 64;
        const auto there = map.find(line);
        ASSERT_EQ(index.find(line), there == map.end() ? LineIndex::kAbsent : there->second);
        if (there == map.end()) {
            index.add(line, step);
            map[line] = step;
        } else if (random() % 3) {
            index.remove(line);
            map.erase(there);
        }
    }
    for (const auto &[line, number] : map)
        EXPECT_EQ(index.find(line), number);
}

// What is in flight, piece by piece: each remembers who flushed it.
class PlainModel {
public:
    PlainModel(ModelKind kind, FenceRule rule) : kind_(kind), rule_(rule) {}

    void apply(std::uint64_t seq, const Event &event)
    {
        if (event.is_store()) {
            cut(seq, event, {}, [&](std::uint64_t line, const Piece &piece) {
                lines_[line].push_back(
                    {piece, {}, kind_ == ModelKind::eadr && !piece.non_temporal});
                settle(line);
            });
        } else if (event.kind == EventKind::flush && kind_ != ModelKind::eadr) {
            std::vector<std::uint64_t> touched;
            for (const auto &entry : lines_)
                if (!event.has_address() || entry.first == event.first_line())
                    touched.push_back(entry.first);
            const bool at_once = event.flush_kind() != trace::FlushKind::clwb &&
                                 event.flush_kind() != trace::FlushKind::clflushopt;
            for (const std::uint64_t line : touched) {
                for (Waiting &waiting : lines_[line])
                    if (!waiting.piece.non_temporal) {
                        waiting.flushed_by.insert(event.vcpu);
                        waiting.guaranteed |= at_once;
                    }
                settle(line);
            }
        } else if (event.kind == EventKind::fence && counts_as_fence(event.fence_kind(), rule_)) {
            std::vector<std::uint64_t> touched;
            for (auto &[line, pieces] : lines_) {
                for (Waiting &waiting : pieces)
                    waiting.guaranteed |= waiting.piece.non_temporal
                                              ? waiting.piece.vcpu == event.vcpu
                                              : waiting.flushed_by.count(event.vcpu) != 0;
                touched.push_back(line);
            }
            for (const std::uint64_t line : touched)
                settle(line);
        }
    }

    std::vector<std::pair<std::uint64_t, unsigned>> pieces(std::uint64_t line) const
    {
        std::vector<std::pair<std::uint64_t, unsigned>> list;
        if (const auto found = lines_.find(line); found != lines_.end())
            for (const Waiting &waiting : found->second)
                list.emplace_back(waiting.piece.seq, waiting.piece.offset);
        return list;
    }
    std::size_t line_count() const { return lines_.size(); }
    std::uint64_t settled() const { return settled_; }

private:
    struct Waiting {
        Piece piece;
        std::set<unsigned> flushed_by;
        bool guaranteed;
    };

    void settle(std::uint64_t line)
    {
        std::vector<Waiting> &pieces = lines_[line];
        for (std::size_t later = pieces.size(); later-- > 0;)
            for (std::size_t earlier = 0; pieces[later].guaranteed && earlier < later; ++earlier) {
                const Piece &a = pieces[earlier].piece;
                const Piece &b = pieces[later].piece;
                if (kind_ == ModelKind::line || a.unit() == b.unit() ||
                    (!a.non_temporal && !b.non_temporal))
                    pieces[earlier].guaranteed = true;
            }
        settled_ += std::erase_if(pieces, [](const Waiting &w) { return w.guaranteed; });
        if (pieces.empty())
            lines_.erase(line);
    }

    ModelKind kind_;
    FenceRule rule_;
    std::map<std::uint64_t, std::vector<Waiting>> lines_;
    std::uint64_t settled_ = 0;
};

class LongTraces : public testing::TestWithParam<ModelKind> {};

TEST_P(LongTraces, TheSameInFlight)
{
    std::mt19937_64 random(7);
    PersistenceModel model(GetParam(), FenceRule::architectural);
    PlainModel plain(GetParam(), FenceRule::architectural);
    std::uint64_t settled = 0;
    std::size_t most_pieces = 0;
    for (std::uint64_t seq = 0; seq < 60000; ++seq) {
        // Phases with few fences let the arrays grow, phases with many make them shrink.
        const std::uint64_t fences = seq / 10000 % 2 ? 10 : 2000;
        Event event;
        event.vcpu = static_cast<std::uint16_t>(random() % 3);
        event.address = (1 << 20) + random() % 400 * 64 + random() % 64;
        const std::uint64_t kind = random() % 10;
        if (random() % fences == 0) {
            event.kind = EventKind::fence;
            event.address = 0;
        } else if (kind < 7) {
            event.kind = kind < 4 ? EventKind::store : EventKind::nt_store;
            event.size = static_cast<std::uint8_t>(1 + random() % (random() % 4 ? 8 : 64));
        } else {
            event.kind = EventKind::flush;
            event.subkind =
                static_cast<std::uint8_t>(random() % 2000 ? 1 + random() % 2 : random() % 5);
            if (!event.has_address())
                event.address = 0;
        }
        const bool boundary = model.raises_guarantee(event);
        model.apply(seq, event, {});
        plain.apply(seq, event);
        EXPECT_EQ(boundary, !model.in_flight().settled().empty());
        settled += model.in_flight().settled().size();
        most_pieces = std::max(most_pieces, model.in_flight().piece_count());
        ASSERT_EQ(settled, plain.settled()) << seq;
        if (seq % 500 && seq != 59999)
            continue;
        const InFlight &in_flight = model.in_flight();
        ASSERT_EQ(in_flight.line_count(), plain.line_count());
        std::size_t lines = 0;
        for (std::uint32_t number = in_flight.first_line(); number != kNone;
             number = in_flight.line(number).next, ++lines) {
            std::vector<std::pair<std::uint64_t, unsigned>> pieces;
            in_flight.for_each_piece(in_flight.line(number), [&](const Piece &piece) {
                pieces.emplace_back(piece.seq, piece.offset);
            });
            ASSERT_EQ(pieces, plain.pieces(in_flight.line(number).line)) << seq;
            ASSERT_EQ(in_flight.find(in_flight.line(number).line), number);
        }
        ASSERT_EQ(lines, in_flight.line_count());
    }
    EXPECT_GT(most_pieces, GetParam() == ModelKind::eadr ? 1000u : 4096u);
}

INSTANTIATE_TEST_SUITE_P(Model, LongTraces,
                         testing::Values(ModelKind::adr, ModelKind::eadr, ModelKind::line),
                         [](const auto &kind) { return std::string(name_of(kind.param)); });

// Two vCPUs take turns to flush, and nobody fences: the newest flush of each is what counts,
// whatever was tidied up meanwhile.
TEST(Flushes, PileUpWithoutFences)
{
    for (unsigned rounds = 8180; rounds <= 8210; rounds += 2) {
        PersistenceModel model(ModelKind::adr, FenceRule::explicit_only);
        std::uint64_t seq = 0;
        const auto apply = [&](EventKind kind, unsigned vcpu, std::uint8_t subkind = 0) {
            Event event;
            event.kind = kind;
            event.subkind = subkind;
            event.vcpu = static_cast<std::uint16_t>(vcpu);
            event.address = kind == EventKind::fence ? 0 : 4096;
            event.size = kind == EventKind::store ? 8 : 0;
            model.apply(seq++, event, {});
        };
        for (unsigned round = 0; round < rounds; ++round) {
            apply(EventKind::store, 2);
            apply(EventKind::flush, round % 2, 2);
        }
        EXPECT_EQ(model.in_flight().piece_count(), rounds);
        apply(EventKind::fence, 0);
        EXPECT_EQ(model.in_flight().piece_count(), 1u);
        apply(EventKind::fence, 1);
        EXPECT_EQ(model.in_flight().piece_count(), 0u);
    }
}

} // namespace
} // namespace fencepost::model
