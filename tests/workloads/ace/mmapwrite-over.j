# define
foo bar A A/foo A/bar B B/foo B/bar A/C A/C/foo

# declare

# setup

# run
open foo O_RDWR|O_CREAT 0777
write foo 0 8192
mark
mmapwrite foo 4096 4096
none
checkpoint 1
