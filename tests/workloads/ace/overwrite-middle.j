# define
foo bar A A/foo A/bar B B/foo B/bar A/C A/C/foo

# declare

# setup

# run
open foo O_RDWR|O_CREAT 0777
write foo 0 16384
mark
write foo 5000 6000
fdatasync foo
checkpoint 1
