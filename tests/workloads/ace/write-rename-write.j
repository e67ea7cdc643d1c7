# define
foo bar A A/foo A/bar B B/foo B/bar A/C A/C/foo

# declare

# setup

# run
open foo O_RDWR|O_CREAT 0777
write foo 0 8192
open bar O_RDWR|O_CREAT 0777
write bar 0 4096
close bar
mark
write foo 0 8192
fsync foo
checkpoint 1
rename foo bar
none
checkpoint 2
write foo 4096 4096
fsync foo
checkpoint 3
