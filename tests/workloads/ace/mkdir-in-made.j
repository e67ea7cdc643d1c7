# define
foo bar A A/foo A/bar B B/foo B/bar A/C A/C/foo

# declare

# setup

# run
mkdir A 0777
mark
mkdir AC 0777
none
checkpoint 1
open ACfoo O_RDWR|O_CREAT 0777
write ACfoo 0 4096
fsync ACfoo
checkpoint 2
