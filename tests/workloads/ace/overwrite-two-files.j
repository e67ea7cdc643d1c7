# define
foo bar A A/foo A/bar B B/foo B/bar A/C A/C/foo

# declare

# setup

# run
open foo O_RDWR|O_CREAT 0777
write foo 0 8192
open bar O_RDWR|O_CREAT 0777
write bar 0 8192
mark
write foo 0 4096
none
checkpoint 1
write bar 4096 4096
fsync bar
checkpoint 2
