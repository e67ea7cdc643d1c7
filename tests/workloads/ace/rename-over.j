# define
foo bar A A/foo A/bar B B/foo B/bar A/C A/C/foo

# declare

# setup

# run
open foo O_RDWR|O_CREAT 0777
write foo 0 4096
close foo
open bar O_RDWR|O_CREAT 0777
write bar 0 8192
close bar
mark
rename foo bar
sync
checkpoint 1
