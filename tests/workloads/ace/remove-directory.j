# define
foo bar A A/foo A/bar B B/foo B/bar A/C A/C/foo

# declare

# setup

# run
mkdir A 0777
mkdir AC 0777
mark
remove AC
none
checkpoint 1
rmdir A
sync
checkpoint 2
