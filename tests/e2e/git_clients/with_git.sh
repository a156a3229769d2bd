# Operations one after another, as the other clients take them:
#   clone URL DIR | fetch DIR URL SPEC | push DIR URL SPEC...  [-- ...]
run() {
	case $1 in
	clone) git clone -q "$2" "$3" ;;
	fetch) git -C "$2" fetch -q "$3" "$4" ;;
	push) dir=$2; shift 2; git -C "$dir" push "$@" ;;
	esac
	echo "exit $?"
}
one=
for word in "$@" --; do
	if [ "$word" = -- ]; then
		run $one 2>&1
		one=
	else
		one="$one $word"
	fi
done
