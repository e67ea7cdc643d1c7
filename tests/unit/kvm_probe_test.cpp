// SPDX-License-Identifier: GPL-2.0-or-later
// A working KVM is told from an absent, a forbidden and a broken one, on fake devices and with the
// outcomes a probe guest can have.
#include "replayer/guest/kvm_probe.h"

#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"

namespace fencepost::guest {
namespace {

void must_not_boot()
{
    FAIL() << "a probe guest was started on a device that cannot be KVM";
}

TEST(KvmProbe, NoDevice)
{
    const KvmProbe probe = probe_kvm("/dev/no-such-device", must_not_boot);
    EXPECT_EQ(probe.state, KvmState::absent);
    EXPECT_EQ(probe.accelerator(), Accelerator::tcg);
}

TEST(KvmProbe, NoPermission)
{
    const TemporaryDirectory directory("/tmp", "fp-kvm-");
    const auto device = directory.path() / "kvm";
    write_file(device, "");
    chmod(device.c_str(), 0);
    // Root may open anything, so the question is asked by somebody else.
    const bool root = geteuid() == 0;
    if (root) {
        chmod(directory.path().c_str(), 0755);
        ASSERT_EQ(seteuid(65534), 0);
    }
    const KvmProbe probe = probe_kvm(device, must_not_boot);
    if (root) {
        ASSERT_EQ(seteuid(0), 0);
    }
    EXPECT_EQ(probe.state, KvmState::no_permission);
}

TEST(KvmProbe, ADeviceThatIsNotKvm)
{
    const TemporaryDirectory directory("/tmp", "fp-kvm-");
    const auto device = directory.path() / "kvm";
    write_file(device, "not a device");
    const KvmProbe probe = probe_kvm(device, must_not_boot);
    EXPECT_EQ(probe.state, KvmState::broken);
    EXPECT_EQ(probe.accelerator(), Accelerator::tcg);
}

// On a device that answers as KVM does, only the probe guest decides. The decision is a function of
// its own, so that it is tested on machines without KVM too.
TEST(KvmProbe, TheProbeGuestDecides)
{
    const KvmProbe works = judge_probe_boot([] {});
    EXPECT_EQ(works.state, KvmState::works);
    EXPECT_EQ(works.accelerator(), Accelerator::kvm);

    const KvmProbe hung = judge_probe_boot(
        [] { throw GuestLost(GuestEnd::hung, "the guest did not finish booting in time"); });
    EXPECT_EQ(hung.state, KvmState::broken);
    EXPECT_NE(hung.detail.find("did not finish booting"), std::string::npos);
    EXPECT_EQ(hung.accelerator(), Accelerator::tcg);

    const KvmProbe died =
        judge_probe_boot([] { throw GuestLost(GuestEnd::machine_died, "KVM: emulation failure"); });
    EXPECT_EQ(died.state, KvmState::broken);
    EXPECT_NE(died.detail.find("emulation failure"), std::string::npos);
}

TEST(KvmProbe, AnInterruptIsNotAVerdict)
{
    EXPECT_THROW(judge_probe_boot([] { fail(ErrorKind::interrupted, "interrupted"); }), Error);
}

} // namespace
} // namespace fencepost::guest
