# A day with git in a repository with hooks: commits, worktrees, a merge, a
# rebase, a stash, and housekeeping. Each line must do what it says.
set -eu
refused() {
	if "$@" 2>/dev/null; then
		echo "not refused: $*" >&2
		exit 1
	fi
}

echo one >one.c
git add one.c
git commit -qm one
git log -1 --format=%B | grep -q '^Checked-by: hook$'

echo FIXME >two.c
git add two.c
refused git commit -qm two
echo two >two.c
git add two.c
git commit -qm two

git worktree add -qb feature tree HEAD~1
cd tree
echo three >three.c
git add three.c
git commit -qm three
git log -1 --format=%B | grep -q '^Checked-by: hook$'
echo FIXME >four.c
git add four.c
refused git commit -qm four
git rm -qf four.c
git rebase -q main
echo change >>one.c
git stash -q
git stash pop -q
git commit -qam four
cd ..
git merge -q --no-ff -m merged feature
git tag -am release v1
git gc -q
git fsck --no-progress
git worktree list | grep -q '/tree '

# What the user's own git would run stays as it is.
refused sh -c 'echo x >.git/hooks/post-commit'
refused sh -c 'echo x >>.git/hooks/pre-commit'
refused rm .git/hooks/pre-commit
refused chmod 0 .git/hooks/pre-commit
refused mv .git/hooks aside
refused mv .git aside
refused git config core.fsmonitor ./evil
refused git config --file .git/config core.hooksPath evil
refused sh -c 'echo "[core]" >.git/config.worktree'

# A worktree that the user made.
cd theirs
echo five >five.c
git add five.c
git commit -qm five
refused sh -c 'echo x >.git'
refused rm .git
cd ..
