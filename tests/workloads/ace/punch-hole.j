# define
foo bar A A/foo A/bar B B/foo B/bar A/C A/C/foo

# declare

# setup

# run
open foo O_RDWR|O_CREAT 0777
write foo 0 16384
mark
falloc foo FALLOC_FL_PUNCH_HOLE|FALLOC_FL_KEEP_SIZE 4096 4096
fsync foo
checkpoint 1
